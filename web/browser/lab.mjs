// Clicks through the page of elect lab: node lab.mjs CHROMIUM URL FOLDER. It writes pictures to FOLDER, and one line of JSON
// about what the page showed at each point.
import { readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';

const [executablePath, url, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: 60000 }); // a container may have no sandbox
const errors = [], others = [];

async function open(options, address = url) {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(60000);
  page.on('pageerror', e => errors.push(String(e)));
  page.on('console', m => { if (m.type() === 'error' && !m.text().includes('422')) errors.push(m.text()); }); // 422: a wrong scenario
  page.on('request', r => { if (!r.url().startsWith(url) && !r.url().startsWith('data:')) others.push(r.url()); });
  await page.goto(address);
  await page.waitForSelector('#diagram svg');
  return page;
}

const see = page => page.evaluate(() => ({
  title: document.querySelector('#title').textContent,
  status: document.querySelector('#status').textContent,
  counts: document.querySelector('#counts').textContent,
  details: document.querySelector('#details').innerText,
  problems: [...document.querySelectorAll('#problems li')].map(e => e.textContent),
  properties: [...document.querySelectorAll('#properties li')].map(e => e.textContent),
  nodes: [...document.querySelectorAll('#nodes summary')].map(e => e.textContent),
  steps: [...document.querySelectorAll('#events li')].map(e => e.textContent),
  current: [...document.querySelectorAll('#events [aria-current]')].map(e => e.textContent),
  messages: document.querySelectorAll('#diagram .message').length,
  lost: document.querySelectorAll('#diagram .lost').length,
  later: document.querySelectorAll('#diagram .step.later').length,
  broken: document.querySelectorAll('#diagram .broken').length,
  leads: document.querySelectorAll('#diagram .leads').length,
  leaders: document.querySelector('#leaders').textContent,
  theory: document.querySelector('#theory').textContent,
  found: document.querySelector('#found').textContent,
  choices: [...document.querySelectorAll('#choosing:not([hidden]) .choice')].map(e => e.dataset.line),
  taken: document.querySelector('#choices [aria-current]')?.dataset.line ?? '',
  timers: [...document.querySelectorAll('#nodes details p')].map(e => e.textContent),
  mode: document.querySelector('.modes [aria-pressed=true]')?.textContent ?? '',
  scenario: document.querySelector('#scenario').value,
  unnamed: [...document.querySelectorAll('button, select, textarea, input')].filter(e => !e.textContent.trim() && !e.labels?.length && !e.ariaLabel).length,
  back: getComputedStyle(document.body).backgroundColor,
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
}));

const seen = {};
const ran = page => page.waitForFunction(() => /^[✓✗]/.test(document.querySelector('#status').textContent));
const desk = await open({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
seen.first = await see(desk);
await desk.screenshot({ path: `${folder}/lab-1280.png`, fullPage: true });

// Keys: to the first step, and three forward.
await desk.keyboard.press('Home');
for (let i = 0; i < 3; i++) await desk.keyboard.press('j');
seen.third = await see(desk);
await desk.screenshot({ path: `${folder}/lab-step.png`, fullPage: true });
await desk.hover('#diagram .message[data-message="0"] .shaft', { force: true });
seen.hover = await see(desk);

// A fault forks the run, and Undo returns.
await desk.keyboard.press('End');
await desk.locator('#diagram .name', { hasText: 'n4' }).click();
await desk.waitForFunction(() => document.querySelector('#scenario').value.includes('crash n4'));
await ran(desk);
seen.crashed = await see(desk);
const link = desk.url();
await desk.keyboard.press('u');
await desk.waitForFunction(() => !document.querySelector('#scenario').value.includes('crash n4'));
await ran(desk);
seen.undone = await see(desk);

// Another example, and a mistake.
await desk.selectOption('#examples', { index: 6 });
await desk.waitForFunction(before => document.querySelector('#title').textContent !== before, seen.undone.title);
await ran(desk);
seen.example = await see(desk);
await desk.screenshot({ path: `${folder}/lab-example.png`, fullPage: true });
const undeclared = await desk.evaluate(() => JSON.parse(document.querySelector('#example-data').textContent).find(e => e.name === '3-orphan').scenario);
await desk.fill('#scenario', undeclared.replace('violates', '# violates'));
await desk.click('#run');
await desk.waitForSelector('#problems li');
await ran(desk);
seen.broken = await see(desk);
await desk.screenshot({ path: `${folder}/lab-broken.png`, fullPage: true });
await desk.fill('#scenario', 'cluster 3\nrun fast\n');
await desk.click('#run');
await desk.waitForFunction(() => document.querySelector('#status').textContent === '✗ Not run');
seen.mistake = await see(desk);
await desk.fill('#scenario', '# <img src=x onerror="document.title=1">\ncluster 3\nrun 1s\n');
await desk.keyboard.press('Control+Enter');
await desk.waitForFunction(() => document.querySelector('#title').textContent.includes('img'));
seen.untrusted = { ...await see(desk), images: await desk.locator('img').count() };

// Another algorithm is drawn beside the run, under the same faults, at the same moment. A link carries it.
const seeBeside = page => page.evaluate(() => ({
  title: document.querySelector('#beside-title').textContent,
  counts: document.querySelector('#beside-counts').textContent,
  status: document.querySelector('#beside-status').textContent,
  messages: document.querySelectorAll('#beside-diagram .message').length,
  later: document.querySelectorAll('#beside-diagram .step.later').length,
  down: document.querySelectorAll('#beside-diagram .step.crash').length,
  beside: document.querySelector('#beside-run').getBoundingClientRect().left > document.querySelector('#diagram').getBoundingClientRect().right,
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
}));
const hasBeside = page => page.waitForSelector('#beside-diagram svg');
const both = await open({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
await both.selectOption('#beside', 'textbook-ring');
await hasBeside(both);
seen.beside = await seeBeside(both);
await both.screenshot({ path: `${folder}/lab-beside.png`, fullPage: true });
await both.keyboard.press('Home');
seen.beside_first = await seeBeside(both);
await both.keyboard.press('End');
await both.locator('#diagram .name', { hasText: 'n4' }).click();
await both.waitForFunction(() => document.querySelector('#scenario').value.includes('crash n4'));
await ran(both);
await both.waitForFunction(before => document.querySelectorAll('#beside-diagram .step.crash').length > before, seen.beside.down);
seen.beside_crashed = await seeBeside(both);
await both.waitForFunction(() => location.hash);
const besideLink = both.url();
await both.route('**/run', r => r.request().postData().includes('algorithm vote') ?
  r.fulfill({ status: 422, contentType: 'application/json', body: '{"problems":[{"line":1,"column":1,"text":"vote is not possible here"}]}' }) : r.continue());
await both.selectOption('#beside', 'vote');
await both.waitForFunction(() => document.querySelector('#beside-status').textContent.startsWith('✗ Not run'));
seen.beside_impossible = await seeBeside(both);
const besideLinked = await open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark', isMobile: true, hasTouch: true }, besideLink);
await hasBeside(besideLinked);
seen.beside_linked = await seeBeside(besideLinked);
await besideLinked.screenshot({ path: `${folder}/lab-beside-360-dark.png`, fullPage: true });

// An arrowhead is dragged down, and then off its lane. A move changes two elements, and reads no layout.
const time = await open({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
await time.evaluate(() => {
  window.counted = { reads: 0, touched: new Set(), added: 0 };
  // All that reads the layout is counted.
  const isRead = /^(offset|client|scroll)(Top|Left|Width|Height)$|^get(BoundingClientRect|ClientRects|BBox|CTM|ScreenCTM|ComputedStyle|ComputedTextLength)$|^innerText$/;
  for (const owner of [Element.prototype, HTMLElement.prototype, SVGGraphicsElement.prototype, SVGTextContentElement.prototype, window]) {
    for (const name of Object.getOwnPropertyNames(owner).filter(name => isRead.test(name))) {
      const p = Object.getOwnPropertyDescriptor(owner, name), key = p.get ? 'get' : 'value', read = p[key];
      Object.defineProperty(owner, name, { ...p, [key](...args) { window.counted.reads++; return read.apply(this, args); } });
    }
  }
  new MutationObserver(all => all.forEach(m => window.counted.touched.add(m.target.nodeType === 3 ? m.target.parentNode : m.target)))
    .observe(document.querySelector('#diagram'), { subtree: true, attributes: true, characterData: true, childList: true });
  new MutationObserver(all => all.forEach(m => window.counted.added += [...m.addedNodes].filter(n => n.nodeType === 1).length))
    .observe(document.querySelector('#details'), { subtree: true, childList: true });
});
async function drag(page, message, dx, dy, during = move => move()) {
  const grip = page.locator(`#diagram .grip[data-message="${message}"]`);
  await grip.scrollIntoViewIfNeeded();
  const box = await grip.boundingBox(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + dx / 2, y + dy / 2);
  await during(() => page.mouse.move(x + dx, y + dy, { steps: 10 }));
  await page.mouse.up();
}
const untilDone = page => page.waitForFunction(() => /^[✓✗]/.test(document.querySelector('#status').textContent));
for (const message of [0, 1]) {
  await time.evaluate(() => { window.counted.reads = window.counted.added = 0; window.counted.touched.clear(); });
  await time.hover(`#diagram .message[data-message="${message}"] .touch`, { force: true });
  await time.waitForFunction(() => document.querySelector('#details').textContent.includes('election n1 → n'));
  seen.hovers = await time.evaluate(() => ({
    reads: window.counted.reads, touched: window.counted.touched.size, added: window.counted.added, label: document.querySelector('#details').textContent,
  }));
  seen.bounds = await time.evaluate(() => {
    const over = document.querySelector('.over'), { width, height } = over.getBBox();
    return [width - over.getAttribute('width'), height - over.getAttribute('height')].map(Math.round);
  });
}
await drag(time, 0, 4, 60, async move => {
  await time.evaluate(() => { window.counted.reads = 0; window.counted.touched.clear(); });
  await move();
  seen.moves = await time.evaluate(() => ({ reads: window.counted.reads, touched: window.counted.touched.size, label: document.querySelector('.ghost-label').textContent }));
  await time.screenshot({ path: `${folder}/lab-drag.png` });
});
await time.waitForFunction(() => document.querySelector('#scenario').value.includes('delay-next'));
await untilDone(time);
seen.delayed = await see(time);
await time.keyboard.press('u');
await time.waitForFunction(() => !document.querySelector('#scenario').value.includes('delay-next'));
await untilDone(time);
await drag(time, 0, 90, 10);
await time.waitForFunction(() => document.querySelector('#scenario').value.includes('drop-next'));
await untilDone(time);
seen.lost = await see(time);
// A click on a lane crashes its node at that moment.
await time.keyboard.press('u');
await time.waitForFunction(() => !document.querySelector('#scenario').value.includes('drop-next'));
await untilDone(time);
await time.keyboard.press('Home');
const lane = await time.evaluate(() => {
  document.querySelector('#diagram').scrollIntoView();
  document.querySelector('#diagram').scrollTop = 0;
  const r = document.querySelectorAll('#diagram .lane-touch')[2].getBoundingClientRect();
  return { x: r.x + r.width / 2, y: r.y };
});
await time.mouse.click(lane.x, lane.y + 190);
await time.waitForFunction(() => document.querySelector('#scenario').value.includes('crash n3'));
await untilDone(time);
seen.lane = await see(time);
await time.keyboard.press('u');
await time.waitForFunction(() => !document.querySelector('#scenario').value.includes('crash n3'));
await untilDone(time);
// The same by keys alone.
for (const key of ['Home', 'j', 'm', 'x']) await time.keyboard.press(key);
await time.waitForFunction(() => document.querySelector('#scenario').value.includes('drop-next'));
await untilDone(time);
seen.keyed = await see(time);

// Mode choice: the next step is the reader's.
const chosen = await open({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
const chose = async line => {
  await chosen.click(`#choices [data-line="${line}"]`);
  await untilDone(chosen);
};
const steps = (page, n) => page.waitForFunction(n => document.querySelectorAll('#events li').length === n, n);
await chosen.evaluate(() => { document.querySelector('#scenario').value = '# Three\nalgorithm bully\noption head_start=0s\ncluster 3\nrun 1s\n'; });
await chosen.click('#run');
await chosen.waitForFunction(() => document.querySelector('#title').textContent.startsWith('Three'));
await chosen.click('#mode-choice');
await chosen.waitForSelector('#choices .choice');
await untilDone(chosen);
seen.choice = await see(chosen);
await chose('crash n3');
await steps(chosen, 1);
await chose('suspect n1 n3');
await steps(chosen, 2);
for (const d of await chosen.locator('#nodes summary').all()) await d.click();
seen.chose = await see(chosen);
await chosen.screenshot({ path: `${folder}/lab-choice.png`, fullPage: true });
await chosen.keyboard.press('k');
seen.stepped = await see(chosen);
await chosen.keyboard.press('2'); // of the choices before step 2
await chosen.waitForFunction(before => document.querySelector('#events li:last-child').textContent !== before, seen.chose.steps.at(-1));
await untilDone(chosen);
seen.forked = await see(chosen);
await chosen.keyboard.press('u');
await chosen.waitForFunction(before => document.querySelector('#events li:last-child').textContent === before, seen.chose.steps.at(-1));
await untilDone(chosen);
seen.returned = await see(chosen);
await chosen.keyboard.press('End');
await drag(chosen, 0, -60, 20); // off the lane
await steps(chosen, 3);
await untilDone(chosen);
seen.dropped = await see(chosen);
await chosen.keyboard.press('u');
await steps(chosen, 2);
await untilDone(chosen);
for (const key of ['m', 'd']) await chosen.keyboard.press(key);
await steps(chosen, 3);
await untilDone(chosen);
seen.delivered = await see(chosen);

// Find me a run: from the start, then one that there is not.
await chosen.keyboard.press('Home');
await chosen.selectOption('#find-property', 'single-leader');
await chosen.click('#find-run');
await chosen.waitForFunction(() => document.querySelector('#found').textContent.startsWith('✗'));
const foundLink = chosen.url();
await chosen.waitForFunction(() => document.querySelector('#play').textContent.includes('Play') && document.querySelector('#last').disabled); // it was played
seen.found = await see(chosen);
await chosen.screenshot({ path: `${folder}/lab-found.png`, fullPage: true });
await chosen.waitForFunction(before => location.href !== before, foundLink); // the link follows the step a little later
const choiceLink = chosen.url();
const [file] = await Promise.all([chosen.waitForEvent('download'), chosen.click('#save')]);
seen.saved = await readFile(await file.path(), 'utf8');
await chosen.keyboard.press('Home');
await chosen.selectOption('#find-property', 'durable');
await chosen.fill('#find-crashes', '0');
await chosen.click('#find-run');
await chosen.waitForFunction(() => document.querySelector('#found').textContent.startsWith('✓'));
seen.none = await see(chosen);
await chosen.selectOption('#find-property', { label: 'n2 leads' });
await chosen.fill('#find-crashes', '1');
await chosen.click('#find-run');
await chosen.waitForFunction(() => document.querySelector('#found').textContent.startsWith('✓ n2 leads'));
await chosen.waitForFunction(() => document.querySelector('#play').textContent.includes('Play') && document.querySelector('#last').disabled);
seen.goal = await see(chosen);
await chosen.click('#mode-time');
await chosen.waitForFunction(() => document.querySelector('#scenario').value.includes('run 1s'));
await untilDone(chosen);
seen.time_again = await see(chosen);

// A trace of a live cluster is opened.
const id = n => `0000000${n}-0000-4000-8000-000000000000`;
const events = [
  { at: 1000, node: id(1), kind: 'start', epoch: 1 }, { at: 2000000, node: id(2), kind: 'start', epoch: 1 },
  { at: 5000000, node: id(2), kind: 'send', peer: id(1), message: { kind: 'coordinator', body: { epoch: 2, leader: id(2) } } },
  { at: 5000000, node: id(2), kind: 'announce', leader: { epoch: 2, id: id(2) } },
  { at: 9000000, node: id(1), kind: 'deliver', peer: id(2), message: { kind: 'coordinator', body: { epoch: 2, leader: id(2) } } },
  { at: 9000000, node: id(1), kind: 'announce', leader: { epoch: 2, id: id(2) } },
];
const jsonl = all => ({ name: 'trace.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(all.map(e => JSON.stringify(e) + '\n').join('')) });
await chosen.setInputFiles('#file', [jsonl(events.filter(e => e.node === id(1))), jsonl(events.filter(e => e.node === id(2)))]);
await chosen.waitForFunction(() => document.querySelector('#title').textContent.startsWith('Trace'));
seen.traced = await see(chosen);
await chosen.screenshot({ path: `${folder}/lab-trace.png`, fullPage: true });

// A link shows the same run in another window.
const linked = await open({ viewport: { width: 2560, height: 1440 }, colorScheme: 'dark' }, link);
await linked.waitForFunction(() => document.querySelector('#scenario').value.includes('crash n4'));
await ran(linked);
seen.linked = await see(linked);
await linked.screenshot({ path: `${folder}/lab-2560-dark.png`, fullPage: true });
const wideChoice = await open({ viewport: { width: 2560, height: 1440 }, colorScheme: 'light' }, choiceLink);
await steps(wideChoice, seen.found.steps.length);
await untilDone(wideChoice);
seen.choice_linked = await see(wideChoice);
await wideChoice.screenshot({ path: `${folder}/lab-choice-2560.png`, fullPage: true });
for (const colorScheme of ['light', 'dark']) {
  const small = await open({ viewport: { width: 360, height: 740 }, colorScheme, isMobile: true, hasTouch: true }, choiceLink);
  await steps(small, seen.found.steps.length);
  await untilDone(small);
  seen['choice_' + colorScheme] = await see(small);
  await small.screenshot({ path: `${folder}/lab-choice-360-${colorScheme}.png`, fullPage: true });
  const phone = await open({ viewport: { width: 360, height: 740 }, colorScheme, isMobile: true, hasTouch: true });
  seen['phone_' + colorScheme] = await see(phone);
  await phone.screenshot({ path: `${folder}/lab-360-${colorScheme}.png`, fullPage: true });
}
console.log(JSON.stringify({ ...seen, errors, others }));
await browser.close();
process.exit(0);
