import { drawRun, inUnits, kindsOf } from './diagram.js';
import { button, element, showMessage, showNodes, showStep, spanAt, stepText } from './details.js';
import { decode, encode } from './link.js';
import { insert } from './edit.js';
import { ask } from './ask.js';

const $ = id => document.getElementById(id);
const data = id => JSON.parse($(id).textContent);
const examples = data('example-data');
const past = []; // scenarios that Undo returns to
let run = null, scenario = '', diagram = null, now = 0, playing = 0, requests = 0, linking = 0;

// updateLink puts the scenario and the step into the address of the page.
async function updateLink() {
  const link = await encode({ scenario, step: now });
  if (scenario !== examples[0].scenario || now !== run.steps.length - 1 || location.hash) history.replaceState(null, '', link);
}

// show makes a step the current one.
function show(step) {
  now = Math.max(0, Math.min(run.steps.length - 1, step));
  diagram.show(now);
  showStep($('details'), run, run.steps[now], show);
  showNodes($('nodes'), run, now);
  const sent = run.messages.filter(m => !m.repeat && m.step >= 0 && m.step <= now).length;
  const at = run.steps[now]?.at ?? run.from;
  $('counts').textContent = `Step ${run.steps.length && now + 1} of ${run.steps.length} · ${sent} messages so far · ${inUnits(run, at)} ${run.unit_name} so far`;
  for (const li of $('events').querySelectorAll('[aria-current]')) li.removeAttribute('aria-current');
  const item = $('events').children[now]?.firstChild;
  if (item) {
    item.setAttribute('aria-current', 'step');
    const list = $('events'), at = item.offsetTop;
    if (at < list.scrollTop || at > list.scrollTop + list.clientHeight - 40) list.scrollTop = at - list.clientHeight / 2; // and not the page
  }
  clearTimeout(linking);
  linking = setTimeout(updateLink, 300);
  const node = run.nodes[run.steps[now]?.node];
  $('crash').textContent = `Crash ${node?.name ?? ''}`;
  $('restart').textContent = `Restart ${node?.name ?? ''}`;
  $('back').disabled = $('first').disabled = now === 0;
  $('next').disabled = $('last').disabled = now >= run.steps.length - 1;
}

function showLegend() {
  const items = kindsOf(run).map((kind, i) => {
    const li = element('li');
    li.innerHTML = `<svg width="34" height="10" aria-hidden="true"><g class="message m${i % 5} d${i % 5}"><line class="shaft" x1="0" y1="5" x2="34" y2="5"/></g></svg>`;
    li.append(kind);
    return li;
  });
  for (const text of ['★ leads, thick lane', '✕ down, or lost', '? suspects', '! trusts again', '◷ timer', '○ starts', '⋮ time left out']) items.push(element('li', text));
  $('legend').replaceChildren(...items);
}

function draw() {
  diagram = drawRun($('diagram'), run, {
    step: show,
    lane: node => edit(node, spanAt(run, node, run.steps[now]?.at ?? run.from)?.kind === 'down' ? 'restart' : 'crash'),
    message(id, chosen) {
      const m = run.messages[id];
      if (chosen && m.by >= 0) show(m.by);
      diagram.show(now, id);
      showMessage($('details'), run, m, show);
    },
  });
}

// setRun shows a run from its last step, so that the picture is whole.
function setRun(result, step = result.steps.length - 1) {
  run = result;
  $('title').textContent = `${run.title || 'Scenario'} · ${run.algorithm} · seed ${run.seed}`;
  draw();
  showLegend();
  $('events').replaceChildren(...run.steps.map(s => {
    const li = element('li');
    li.append(button(`${inUnits(run, s.at)} ${run.unit_name}  ${stepText(run, s)}`, () => show(s.id)));
    return li;
  }));
  $('properties').replaceChildren(...run.properties.map(p => {
    const li = element('li', `${p.text ? '✗' : '✓'} ${p.name}`, p.text ? 'bad' : 'good');
    if (p.text) li.append(': ', p.step >= 0 ? button(`${p.text}, at step ${p.step + 1}`, () => show(p.step)) : p.text, p.known ? ' (known)' : '');
    return li;
  }));
  problems(run.failure ? [run.failure] : []);
  show(step);
}

function problems(all) {
  $('problems').replaceChildren(...all.map(p => element('li', '✗ ' + (p.line ? `line ${p.line}${p.column ? `, column ${p.column}` : ''}: ` : '') + p.text, 'bad')));
}

// runScenario runs a text. Only the answer to the last request counts.
async function runScenario(text, { step, undoable = true } = {}) {
  const request = ++requests;
  stop();
  $('status').textContent = 'Running…';
  try {
    const answer = await ask({ scenario: text, all: $('all').checked });
    if (request !== requests) return;
    if (undoable && text !== scenario) past.push(scenario);
    $('undo').disabled = past.length === 0;
    scenario = $('scenario').value = text;
    setRun(answer, step);
    await updateLink();
    $('status').textContent = run.failure ? '✗ Does not hold' : '✓ Holds';
  } catch (e) {
    if (request !== requests) return;
    if (e.problems) problems(e.problems);
    $('status').textContent = e.problems ? '✗ Not run' : `⚠ ${e.message}`;
  }
}

// edit runs the scenario with a fault at the current moment, as another run.
function edit(node, verb) {
  const at = run.steps[now]?.at ?? run.from;
  try {
    runScenario(insert(scenario, at, `${verb} ${run.nodes[node].name}`));
  } catch (e) {
    problems([{ text: e.message }]);
  }
}

function undo() {
  if (past.length) runScenario(past.pop(), { undoable: false });
}

function stop() {
  clearInterval(playing);
  playing = 0;
  $('play').textContent = '▶ Play';
}

function play() {
  if (playing) return stop();
  if (now >= run.steps.length - 1) show(0);
  $('play').textContent = '⏸ Pause';
  playing = setInterval(() => {
    show(now + 1);
    if (now >= run.steps.length - 1) stop();
  }, 500);
}

const editStep = verb => run.steps.length && edit(run.steps[now].node, verb);
const actions = {
  first: () => show(0), back: () => show(now - 1), next: () => show(now + 1), last: () => show(run.steps.length - 1),
  play, undo, run: () => runScenario($('scenario').value), crash: () => editStep('crash'), restart: () => editStep('restart'),
};
for (const [id, act] of Object.entries(actions)) $(id).addEventListener('click', act);

const keys = { j: 'next', ArrowDown: 'next', k: 'back', ArrowUp: 'back', Home: 'first', End: 'last', ' ': 'play', c: 'crash', r: 'restart', u: 'undo' };
document.addEventListener('keydown', e => {
  if (e.key === 'Enter' && e.ctrlKey) return actions.run();
  const isField = e.target.closest('textarea, select, input') || e.key === ' ' && e.target.closest('button, summary');
  if (isField || e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return;
  e.preventDefault();
  const id = keys[e.key];
  if (!['play', 'crash', 'restart', 'undo'].includes(id)) stop();
  actions[id]();
});
$('all').addEventListener('change', () => runScenario(scenario));
$('examples').append(...examples.map((e, i) => new Option(e.title, i)));
$('examples').addEventListener('change', () => runScenario(examples[$('examples').value].scenario));
let width = 0;
new ResizeObserver(() => {
  if (run && $('diagram').clientWidth !== width) {
    width = $('diagram').clientWidth;
    draw();
    diagram.show(now);
  }
}).observe($('diagram'));

async function open() {
  let state = null;
  try {
    state = await decode(location.hash);
  } catch (e) {
    $('status').textContent = `⚠ The link is damaged: ${e.message}`;
  }
  if (state) {
    $('scenario').value = state.scenario;
    await runScenario(state.scenario, { step: state.step, undoable: false });
  }
}
scenario = $('scenario').value = examples[0].scenario;
setRun(data('first-run'));
$('status').textContent = '✓ Holds';
addEventListener('hashchange', open);
open();
