// Looks at the page as a person does: node look.mjs CHROMIUM URL FOLDER. It writes a line of JSON for each look,
// and a picture to FOLDER. After a line on its standard input it waits for another leader, after a second one until it is cut off.
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const [executablePath, url, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: 60000 }); // in a container it can have none
const errors = [], others = [];
const notified = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function open(options) {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(60000);
  page.on('pageerror', e => errors.push(String(e)));
  page.on('console', m => { if (m.type() === 'error') errors.push(m.text()); });
  page.on('request', r => { if (!r.url().startsWith(url) && !r.url().startsWith('data:')) others.push(r.url()); });
  await page.goto(url);
  await page.waitForFunction(() => document.querySelectorAll('#members tr').length && !document.querySelector('#leader').textContent.startsWith('…'));
  return page;
}

async function look(page, picture) {
  await page.screenshot({ path: `${folder}/${picture}.png`, fullPage: true });
  const seen = await page.evaluate(() => ({
    title: document.title,
    leader: document.querySelector('#leader').textContent,
    link: document.querySelector('#link').textContent,
    members: [...document.querySelectorAll('#members tr')].map(r => [...r.cells].map(c => c.textContent)),
    warnings: [...document.querySelectorAll('#warnings li')].map(c => c.textContent),
    changes: [...document.querySelectorAll('#changes li')].map(c => c.textContent),
    lanes: [...document.querySelectorAll('#lanes .name')].map(c => c.textContent),
    leads: document.querySelectorAll('#lanes .leads').length,
    epochs: [...document.querySelectorAll('#lanes .epoch-name')].map(c => c.textContent),
    elements: [...new Set([...document.body.querySelectorAll('*')].map(e => e.localName))].sort(),
    back: getComputedStyle(document.body).backgroundColor,
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  }));
  console.log(JSON.stringify({ ...seen, picture, errors, others }));
}

const desk = await open({ viewport: { width: 1100, height: 800 }, colorScheme: 'light' });
const before = await desk.textContent('#leader'); // it may change after the test is notified
await look(desk, 'light');
await notified.next();
await desk.waitForFunction(before => {
  const now = document.querySelector('#leader').textContent;
  return now.startsWith('★') && now !== before;
}, before);
await look(desk, 'after');
await look(await open({ viewport: { width: 1100, height: 800 }, colorScheme: 'dark' }), 'dark');
await look(await open({ viewport: { width: 360, height: 740 }, colorScheme: 'light', isMobile: true, hasTouch: true }), 'phone');
await look(await open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark', isMobile: true, hasTouch: true }), 'phone-dark');

const focused = [];
for (let i = 0; i < 5; i++) {
  await desk.keyboard.press('Tab');
  focused.push(await desk.evaluate(() => {
    const e = document.activeElement, s = getComputedStyle(e);
    return `${e.localName} ${e.getAttribute('href') || e.getAttribute('aria-labelledby') || ''} ${s.outlineStyle}`;
  }));
}
console.log(JSON.stringify({ focused, errors, others }));
await notified.next();
await desk.waitForFunction(() => document.querySelector('#link').textContent.startsWith('⚠'));
await look(desk, 'lost');
await browser.close();
process.exit(0);
