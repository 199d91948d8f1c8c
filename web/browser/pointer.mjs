// Measures what a move of the pointer costs the page of elect lab: node pointer.mjs CHROMIUM URL#GESTURE FOLDER. A
// trace of Chromium says how long the main thread of the page worked after each move: scripts, styles, layout and paint. It
// writes one line of JSON with these times, in milliseconds.
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';

const [executablePath, url, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: 60000 }); // a container may have no sandbox
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
page.setDefaultTimeout(60000);
await page.goto(url);
await page.waitForSelector('#diagram svg');

// Seven nodes, and an election every 200 ms: 48 messages each.
const elections = 11, moves = 200, frame = 30; // ms, longer than that of a screen
const scenario = `# Many elections\n# Draw from 1s, T = 10ms\nalgorithm textbook-bully\ndetector scripted\ndelay 10ms\ntiming round_trip=20ms\ncluster 7\nrun 1s\n${'campaign n1\nrun 200ms\n'.repeat(elections)}`;
await page.fill('#scenario', scenario);
await page.click('#run');
await page.waitForFunction(() => document.querySelector('#title').textContent.startsWith('Many') && /^[✓✗]/.test(document.querySelector('#status').textContent));

// The picture is long: its start is in sight.
await page.evaluate(async () => {
  const box = document.querySelector('#diagram');
  box.scrollIntoView();
  box.scrollTop = 0;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
});

// measure traces the moves of a gesture. Each is the only one of its frame.
async function measure(points) {
  await browser.startTracing(page, { path: `${folder}/pointer.json`, categories: ['-*', 'toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] });
  for (const { x, y } of points) {
    await page.mouse.move(x, y);
    await pause(frame);
  }
  await browser.stopTracing();
  return timesOf(JSON.parse(await readFile(`${folder}/pointer.json`, 'utf8')).traceEvents);
}

// timesOf adds up the tasks of the main thread from one move to the next. Tasks within others count once.
function timesOf(events) {
  const isMove = e => e.name === 'EventDispatch' && e.args.data?.type === 'pointermove';
  const threads = new Map();
  for (const e of events.filter(isMove)) threads.set(`${e.pid} ${e.tid}`, (threads.get(`${e.pid} ${e.tid}`) ?? 0) + 1);
  const [main] = [...threads].sort((a, b) => b[1] - a[1])[0], own = events.filter(e => `${e.pid} ${e.tid}` === main);
  const starts = own.filter(isMove).map(e => e.ts).sort((a, b) => a - b), times = starts.map(() => 0);
  let end = -Infinity;
  for (const e of own.filter(e => e.ph === 'X' && e.name.endsWith('RunTask')).sort((a, b) => a.ts - b.ts)) {
    if (e.ts < end) continue; // within the one before
    end = e.ts + e.dur;
    const i = starts.findLastIndex(at => at < end);
    if (i >= 0) times[i] += (e.tdur ?? e.dur) / 1000;
  }
  return times;
}

const gestures = {
  // Each move enters another message.
  async hover() {
    const middles = await page.evaluate(() => {
      const box = document.querySelector('#diagram'), area = box.getBoundingClientRect(), bottom = Math.min(area.bottom, innerHeight);
      return [...document.querySelectorAll('#diagram .message .shaft')].map(e => e.getBoundingClientRect())
        .map(r => ({ x: r.x + r.width / 2, y: r.y + r.height / 2 })).filter(p => p.y > area.top + 30 && p.y < bottom - 5);
    });
    return Array.from({ length: moves }, (_, i) => middles[i % middles.length]);
  },
  // The head of a message is dragged down and to both sides.
  async drag() {
    const grip = page.locator('#diagram .grip').nth(3);
    await grip.scrollIntoViewIfNeeded();
    const box = await grip.boundingBox(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 5, y + 5);
    return Array.from({ length: moves }, (_, i) => ({ x: x + 90 * Math.sin(i / 9), y: y + i }));
  },
};
const times = await measure(await gestures[new URL(url).hash.slice(1)]());
const [messages, lanes] = await Promise.all(['.message', '.name'].map(kind => page.locator(`#diagram ${kind}`).count()));
console.log(JSON.stringify({ times, messages, lanes }));
await browser.close();
process.exit(0);
