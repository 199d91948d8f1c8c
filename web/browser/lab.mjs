// Clicks through the page of elect lab: node lab.mjs CHROMIUM URL FOLDER. It writes pictures to FOLDER, and one line of JSON
// about what the page showed at each point.
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
  scenario: document.querySelector('#scenario').value,
  unnamed: [...document.querySelectorAll('button, select, textarea, input')].filter(e => !e.innerText && !e.labels?.length).length,
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

// A link shows the same run in another window.
const linked = await open({ viewport: { width: 2560, height: 1440 }, colorScheme: 'dark' }, link);
await linked.waitForFunction(() => document.querySelector('#scenario').value.includes('crash n4'));
await ran(linked);
seen.linked = await see(linked);
await linked.screenshot({ path: `${folder}/lab-2560-dark.png`, fullPage: true });
for (const colorScheme of ['light', 'dark']) {
  const phone = await open({ viewport: { width: 360, height: 740 }, colorScheme, isMobile: true, hasTouch: true });
  seen['phone_' + colorScheme] = await see(phone);
  await phone.screenshot({ path: `${folder}/lab-360-${colorScheme}.png`, fullPage: true });
}
console.log(JSON.stringify({ ...seen, errors, others }));
await browser.close();
process.exit(0);
