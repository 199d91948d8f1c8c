// Plays the lessons of the page of elect lab: node lessons.mjs CHROMIUM URL FOLDER. It writes pictures to FOLDER, and one line
// of JSON about what the page showed at each point.
import { chromium } from 'playwright-core';

const [executablePath, url, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: 60000 }); // a container may have no sandbox
const errors = [];
let runs = 0;

async function open(options, hash = '') {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(60000);
  page.on('pageerror', e => errors.push(String(e)));
  page.on('console', m => { if (m.type() === 'error') errors.push(m.text()); });
  page.on('request', r => { if (r.url().endsWith('/run')) runs++; });
  await page.goto(url + hash);
  await page.waitForSelector('#diagram svg', { state: 'attached' });
  return page;
}

const see = page => page.evaluate(runs => ({
  runs, // requests so far
  heading: document.querySelector('#lesson-title').textContent,
  text: document.querySelector('#lesson-text').innerText,
  visible: [...document.querySelectorAll('main section')].filter(e => e.checkVisibility()).map(e => e.className),
  header: [...document.querySelectorAll('header > *')].filter(e => e.checkVisibility()).map(e => e.textContent),
  focused: document.activeElement.id || document.activeElement.textContent.trim(),
  verdict: document.querySelector('#verdict').innerText,
  after: document.querySelector('#lesson-after').innerText,
  next: document.querySelector('#lesson-next').checkVisibility() ? document.querySelector('#lesson-next').textContent : '',
  title: document.querySelector('#title').textContent,
  counts: document.querySelector('#counts').textContent,
  hash: location.hash.slice(0, 10),
  unnamed: [...document.querySelectorAll('button, select, textarea, input, a')].filter(e => !e.textContent.trim() && !e.labels?.length && !e.ariaLabel).length,
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
}), runs);
const shoot = (page, name) => page.screenshot({ path: `${folder}/lesson-${name}.png`, fullPage: true });
const ended = page => page.waitForFunction(() => document.querySelector('#lesson-next').textContent !== 'To the end of this run' || document.querySelector('#lesson-next').hidden);
const isOut = page => page.waitForFunction(() => /^Step 1 of|^Step 0 of/.test(document.querySelector('#counts').textContent));

async function toVerdict(page, runs) {
  for (let i = 0; i < runs; i++) {
    await page.waitForFunction(() => document.querySelector('#lesson-next').textContent === 'To the end of this run');
    await page.waitForFunction(() => /^[✓✗]/.test(document.querySelector('#status').textContent));
    await page.click('#lesson-next');
    await ended(page);
    if (i < runs - 1) await page.click('#lesson-next');
  }
}

// Each lesson asks, is answered, and compares the answer with its runs.
const seen = { lessons: [] };
const answers = { 1: '12', 2: 'I think two of them', 3: null, 4: 'n3', 5: '2', 6: '2.' };
for (const [number, answer] of Object.entries(answers)) {
  const page = await open({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' }, `#lesson=${number}`);
  runs = 0;
  await page.keyboard.press('End'); // keys have no effect on the hidden run
  const asked = await see(page);
  await shoot(page, `${number}-ask`);
  if (answer === null) await page.click('#unknown');
  else {
    await page.fill('#prediction', answer);
    await page.keyboard.press('Enter');
  }
  await isOut(page);
  const playing = await see(page);
  await toVerdict(page, number === '5' ? 4 : 1);
  const compared = await see(page);
  await shoot(page, `${number}-verdict`);
  seen.lessons.push({ asked, playing, compared });
}

// By keys alone, with a run that plays by itself.
const keys = await open({ viewport: { width: 1280, height: 900 }, colorScheme: 'dark' });
seen.list = await see(keys);
await shoot(keys, 'list-dark');
await keys.keyboard.press('l');
for (const key of ['Tab', 'Tab', 'Enter']) await keys.keyboard.press(key);
await keys.waitForSelector('#predict:not([hidden])');
seen.chosen = await see(keys);
for (const key of ['Tab', '2', 'Enter']) await keys.keyboard.press(key);
await isOut(keys);
await ended(keys);
seen.played = await see(keys);
await shoot(keys, '2-verdict-dark');
await keys.keyboard.press('u'); // back to the run before the lesson, and the lesson continues from its own run
await keys.waitForFunction(() => document.querySelector('#title').textContent.startsWith('Bully at its worst') && location.hash.startsWith('#s='));
seen.undone = await see(keys);
for (let i = 0; i < 3; i++) await keys.click('#lesson-next');
await keys.waitForFunction(() => document.querySelector('#lesson-text').innerText.includes('Run 3 of 3') && document.querySelector('#status').textContent.startsWith('✓'));
await keys.click('#lesson-next');
await keys.waitForSelector('#lesson-next', { state: 'hidden' });
seen.end = await see(keys);
for (const fold of await keys.locator('#lesson-after summary').all()) await fold.click();
await shoot(keys, '2-end-dark');
await keys.click('#lesson-after a[href="#lesson=3"]');
await keys.waitForFunction(() => document.querySelector('#lesson-title').textContent.startsWith('Lesson 3'));
seen.following = await see(keys);
await keys.click('#lesson-leave');
seen.left = await see(keys);
await keys.goBack();
await keys.waitForFunction(() => document.querySelector('#predict').hidden === false);
seen.back = await see(keys);
await keys.goto(url + '#lesson=9');
seen.unknown = { ...await see(keys), status: await keys.textContent('#status') };

// Phones and wide screens.
for (const [name, options] of Object.entries({
  '360-light': { viewport: { width: 360, height: 740 }, colorScheme: 'light', isMobile: true, hasTouch: true },
  '360-dark': { viewport: { width: 360, height: 740 }, colorScheme: 'dark', isMobile: true, hasTouch: true },
  '2560-light': { viewport: { width: 2560, height: 1440 }, colorScheme: 'light' },
})) {
  const page = await open(options, '#lesson=4');
  seen[`ask_${name}`] = await see(page);
  await shoot(page, `4-ask-${name}`);
  await page.fill('#prediction', 'none');
  await page.keyboard.press('Enter');
  await isOut(page);
  await toVerdict(page, 1);
  seen[`verdict_${name}`] = await see(page);
  await page.screenshot({ path: `${folder}/lesson-4-verdict-${name}-window.png` });
  await shoot(page, `4-verdict-${name}`);
}
console.log(JSON.stringify({ ...seen, errors }));
await browser.close();
process.exit(0);
