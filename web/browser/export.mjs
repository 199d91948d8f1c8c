// Opens an exported page of elect lab from the disk: node export.mjs CHROMIUM FILE FOLDER. It writes pictures to FOLDER, and
// one line of JSON about what the page showed at each point.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [executablePath, file, folder] = process.argv.slice(2);
const url = pathToFileURL(resolve(file)).href;
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: 60000 }); // a container may have no sandbox
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
page.setDefaultTimeout(120000);
const errors = [], others = [];
page.on('pageerror', e => errors.push(String(e)));
page.on('console', m => { if (m.type() === 'error') errors.push(m.text()); });
page.on('request', r => { if (!/^(data|blob):/.test(r.url()) && r.url() !== url) others.push(r.url()); });
await page.addInitScript(() => {
  const Plain = Worker;
  window.Worker = class extends Plain {
    constructor(...args) {
      window.atStart ??= document.querySelectorAll('#diagram .message').length;
      super(...args);
    }
  };
  new MutationObserver((_, o) => { if (document.querySelector('#diagram svg')) { window.drawn = performance.now(); o.disconnect(); } })
    .observe(document, { childList: true, subtree: true });
});

const see = () => page.evaluate(() => ({
  title: document.querySelector('#title').textContent,
  status: document.querySelector('#status').textContent,
  counts: document.querySelector('#counts').textContent,
  scenario: document.querySelector('#scenario').value,
  problems: [...document.querySelectorAll('#problems li')].map(e => e.textContent),
  nodes: [...document.querySelectorAll('#nodes summary')].map(e => e.textContent),
  messages: document.querySelectorAll('#diagram .message').length,
}));
const ran = () => page.waitForFunction(() => /^[✓✗]/.test(document.querySelector('#status').textContent));
async function edit(scenario) {
  await page.fill('#scenario', scenario);
  await page.click('#run');
  await ran();
}

const seen = {};
await page.goto(url);
await page.waitForSelector('#diagram svg');
seen.first = await see();
const edited = '# Edited\nalgorithm ring\nseed 3\ncluster 4\nrun 1s\nleader n4\n';
await edit(edited);
seen.edited = await see();
[seen.atStart, seen.drawn, seen.loaded] = await page.evaluate(() => [window.atStart, window.drawn, performance.now()]);
await page.screenshot({ path: `${folder}/lab-export.png`, fullPage: true });
await page.locator('#diagram .name', { hasText: 'n4' }).click();
await page.waitForFunction(() => document.querySelector('#scenario').value.includes('crash n4'));
await ran();
seen.crashed = await see();
await edit('cluster 3\nrun fast\n');
seen.mistake = await see();
await edit(edited);
seen.again = await see();
// A lesson plays here, too.
await page.goto(`${url}#lesson=1`);
await page.fill('#prediction', '19');
await page.keyboard.press('Enter');
await ran();
await page.click('#lesson-next');
await page.waitForSelector('#verdict p');
seen.verdict = await page.locator('#verdict p').first().textContent();
console.log(JSON.stringify({ ...seen, errors, others }));
await browser.close();
process.exit(0);
