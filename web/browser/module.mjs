// Asks the module of an exported page, without a browser: node module.mjs PAGE. It reads requests from standard input, a list
// of objects with call and request, and writes the answers, a list as well.
import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const page = readFileSync(process.argv[2], 'utf8');
const part = id => page.match(new RegExp(`<script type="text/plain" id="${id}">([^]*?)</script>`))[1];
const answers = [];
globalThis.onmessage = null; // a worker has it
globalThis.postMessage = answer => answers.push(answer);
runInThisContext(part('module-worker'));
await onmessage({ data: { module: part('module') } });
for (const data of JSON.parse(readFileSync(0, 'utf8'))) await onmessage({ data });
process.stdout.write(JSON.stringify(answers), () => process.exit(0));
