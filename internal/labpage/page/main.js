import { ask } from './ask.js';
import { element, inUnits } from './base.js';
import { asChoice, choiceOf, choicesAt, extend, inFlight, prefix, showChoices, takenLine } from './choose.js';
import { drawRun, kindsOf } from './diagram.js';
import { button, leadersAt, messageText, showMessage, showNodes, showStep, spanAt, stepText } from './details.js';
import { delayMessage, insert, loseMessage } from './edit.js';
import { openLessons, own } from './lesson.js';
import { openBeside } from './beside.js';
import { decode, encode } from './link.js';
import { openFiles, save } from './files.js';

const $ = id => document.getElementById(id);
const data = id => JSON.parse($(id).textContent);
const examples = data('example-data');
const past = []; // scenarios and steps that Undo returns to
const last = {}; // the same, of each mode
const lessons = openLessons({
  ask() {
    stop();
    searching?.abort();
    requests++; // a result that comes later would show a run
  },
  play: name => runLesson(name, play),
  end: name => (run === lessonRun ? show(run.steps.length - 1) : runLesson(name, () => show(run.steps.length - 1))),
  leave: updateLink,
});
const beside = openBeside();
let lessonRun = null, run = null, scenario = '', diagram = null, now = 0, chosen = -1, numbered = [], playing = 0, requests = 0, linking = 0, links = 0, searching = null;

const withoutOutput = text => text.replace(/^ *>.*\n/gm, '');
const isChoice = () => run.mode === 'choice';
const first = () => (isChoice() ? -1 : 0); // before the first step, the reader has a choice

// updateLink puts the scenario and the step into the address of the page.
async function updateLink() {
  const number = ++links;
  if (run.mode === 'trace' || lessons.isAsking()) return;
  const link = run === lessonRun && lessons.link() || await encode({ scenario, step: now, beside: beside.name() || undefined });
  if (number !== links) return; // the reader has gone on while the scenario was packed
  if (scenario !== examples[0].scenario || now !== run.steps.length - 1 || beside.name() || location.hash) history.replaceState(null, '', link);
}

// show makes a step the current one.
function show(step) {
  now = Math.max(first(), Math.min(run.steps.length - 1, step));
  chosen = -1;
  diagram.show(now);
  beside.show(run.steps[now]?.at ?? run.from);
  if (isChoice() && now < 0) $('details').replaceChildren(element('p', 'Before the first step.', 'what'));
  else showStep($('details'), run, run.steps[now], show);
  showNodes($('nodes'), run, now);
  showCounts();
  showProperties();
  for (const li of $('events').querySelectorAll('[aria-current]')) li.removeAttribute('aria-current');
  const item = $('events').children[now]?.firstChild;
  if (item) {
    item.setAttribute('aria-current', 'step');
    const list = $('events'), at = item.offsetTop;
    if (at < list.scrollTop || at > list.scrollTop + list.clientHeight - 40) list.scrollTop = at - list.clientHeight / 2; // and not the page
  }
  clearTimeout(linking);
  linking = setTimeout(updateLink, 300);
  $('back').disabled = $('first').disabled = now <= first();
  $('next').disabled = $('last').disabled = now >= run.steps.length - 1;
  if (isChoice()) {
    const focused = $('choices').contains(document.activeElement);
    numbered = showChoices($('choices'), run, now, choose);
    if (focused) $('choices').querySelector('button')?.focus();
  }
  showFaults();
  if (run === lessonRun && now >= run.steps.length - 1) lessons.end(run);
}

// setText changes a text only if it differs, so that the browser need not lay it out again.
function setText(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

// showFaults shows the buttons that have an effect now.
function showFaults() {
  const node = run.nodes[run.steps[now]?.node], m = run.messages[chosen];
  for (const [id, verb] of [['crash', 'Crash'], ['restart', 'Restart']]) {
    $(id).hidden = !node || run.mode === 'trace';
    setText(id, `${verb} ${node?.name ?? ''}`);
    $(id).disabled = isChoice() && !possible(`${id} ${node?.name}`) && !possible(`${id.replace('restart', 'start')} ${node?.name}`);
  }
  $('lose').hidden = $('delay').hidden = !m || !canEdit(m);
  if (!m) return;
  setText('lose', isChoice() ? 'Drop it' : 'Lose it');
  setText('delay', isChoice() ? 'Deliver it' : `Delay it by ${inUnits({ ...run, from: 0 }, delayStep())} ${run.unit_name}`);
}

const possible = line => choicesAt(run, now).find(c => c.line === line);
const delayStep = () => (run.unit_name === 'T' ? run.unit : 10 * run.unit);

// canEdit reports whether a message can be lost or delayed: in mode choice, only one in flight.
function canEdit(m) {
  if (run.mode === 'trace') return false;
  if (isChoice()) return [...inFlight(run, now).values()].includes(m.id) && Boolean(choiceOf(run, now, m, 'drop') || choiceOf(run, now, m, 'deliver'));
  return m.step >= 0 && !m.repeat && m.lost !== 'lost';
}

function showCounts() {
  const sent = run.messages.filter(m => own(m) && m.step <= now).length, t = run.theory;
  const at = run.steps[now]?.at ?? run.from, moment = isChoice() ? '' : ` · ${inUnits(run, at)} ${run.unit_name} so far`;
  $('counts').textContent = `Step ${run.steps.length && now + 1} of ${run.steps.length} · ${sent} ${sent === 1 ? 'message' : 'messages'} so far${moment}`;
  const leaders = leadersAt(run, at);
  $('leaders').textContent = leaders.length > 1 ? `✗ ${leaders.length} lead now: ${leaders.join(', ')}` : leaders.length ? `★ ${leaders[0]} leads` : '– No node leads';
  $('leaders').className = leaders.length > 1 ? 'bad' : leaders.length ? 'good' : '';
  $('theory').textContent = '';
  if (!t) return;
  const since = Math.max(0, at - run.steps[t.started_at].at) / run.unit;
  $('theory').textContent = `Formula: ${t.sent} = ${t.sent_at} messages, ${sent} so far · ${t.lasts} = ${t.lasts_at} T, ${Math.round(since * 100) / 100} so far · ${t.symbols}. Case: ${t.case}.`;
}

// showProperties shows each property: red from the step that violates it.
function showProperties() {
  $('properties').replaceChildren(...run.properties.map(p => {
    const broken = p.text && now >= p.step;
    const li = element('li', `${broken ? '✗' : '✓'} ${p.name}`, broken ? 'bad' : 'good');
    if (broken) li.append(': ', p.step >= 0 ? button(`${p.text}, at step ${p.step + 1}`, () => show(p.step)) : p.text, p.known ? ' (known)' : '');
    else if (p.text) li.append(' so far; ', button(`violated at step ${p.step + 1}`, () => show(p.step)));
    return li;
  }));
  if (run.mode === 'trace') $('properties').append(element('li', 'A trace of a live cluster is not checked.', 'soft'));
}

function showLegend() {
  const items = kindsOf(run).map((kind, i) => {
    const li = element('li');
    li.innerHTML = `<svg width="34" height="10" aria-hidden="true"><g class="message m${i % 5} d${i % 5}"><line class="shaft" x1="0" y1="5" x2="34" y2="5"/></g></svg>`;
    li.append(kind);
    return li;
  });
  const signs = ['★ leads, thick lane', '✕ down, or lost', '? suspects', '! trusts again', '◷ timer', '○ starts'];
  signs.push(isChoice() ? '⚑ starts an election' : '⋮ time left out');
  for (const text of signs) items.push(element('li', text));
  $('legend').replaceChildren(...items);
}

function draw() {
  diagram = drawRun($('diagram'), run, {
    step: show,
    lane: (node, at) => edit(node, spanAt(run, node, isChoice() ? moment() : at ?? moment())?.kind === 'down' ? 'restart' : 'crash', at),
    message(id, isClick) {
      const m = run.messages[id];
      if (isClick && m.by >= 0 && !(isChoice() && m.by > now)) show(m.by);
      if (id !== chosen) select(id);
    },
    canDrag: m => (isChoice() ? m.by < 0 : canEdit(m)),
    dragged: (m, at) => editMessage(m, at === null ? 'drop' : 'deliver', at - m.sent),
  });
}

// select shows a message instead of the step.
function select(id) {
  chosen = id;
  diagram.show(now, id);
  showMessage($('details'), run, run.messages[id], show);
  showFaults();
}

// selectNext shows the next message that the current step takes or sends; in mode choice, the next one in flight.
function selectNext() {
  const s = run.steps[now], flying = isChoice() ? [...inFlight(run, now).values()] : [];
  const ids = flying.length ? flying : [...(s?.message >= 0 ? [s.message] : []), ...(s?.sent ?? [])];
  if (ids.length) select(ids[(ids.indexOf(chosen) + 1) % ids.length]);
}

// setRun shows a run from its last step, so that the picture is whole.
function setRun(result, step = result.steps.length - 1) {
  run = result;
  if (lessons.isAsking()) lessons.leave();
  $('title').textContent = [run.title || 'Scenario', run.algorithm, run.mode === 'time' && `seed ${run.seed}`].filter(Boolean).join(' · ');
  $('mode-time').setAttribute('aria-pressed', run.mode === 'time');
  $('mode-choice').setAttribute('aria-pressed', isChoice());
  $('choosing').hidden = !isChoice();
  draw();
  showLegend();
  showGoals();
  $('events').replaceChildren(...run.steps.map(s => {
    const li = element('li');
    li.append(button(`${isChoice() ? s.id + 1 : `${inUnits(run, s.at)} ${run.unit_name}`}  ${stepText(run, s)}`, () => show(s.id)));
    return li;
  }));
  problems(run.failure ? [run.failure] : []);
  if (!searching) $('found').textContent = '';
  beside.update(run.mode === 'time' ? scenario : '');
  show(step);
}

function problems(all) {
  $('problems').replaceChildren(...all.map(p => element('li', '✗ ' + (p.line ? `line ${p.line}${p.column ? `, column ${p.column}` : ''}: ` : '') + p.text, 'bad')));
}

// answerTo asks, and returns null if another request came later, or if there is no result.
async function answerTo(request, signal) {
  const own = ++requests;
  stop();
  try {
    const answer = await ask(request, signal);
    return own === requests ? answer : null;
  } catch (e) {
    if (own !== requests) return null;
    if (e.problems) problems(e.problems);
    $('status').textContent = e.problems ? '✗ Not run' : `⚠ ${e.message}`;
    return null;
  }
}

// accept shows the result of a scenario.
async function accept(answer, text, { step, undoable = true, isLesson } = {}) {
  if (isLesson) lessonRun = answer;
  if (answer.mode === 'choice') text = answer.scenario;
  if (undoable && text !== scenario) past.push({ scenario, step: now });
  if (run.mode !== 'trace') last[run.mode] = { scenario, step: now };
  $('undo').disabled = past.length === 0;
  scenario = $('scenario').value = text;
  $('examples').selectedIndex = 1 + examples.findIndex(e => withoutOutput(e.scenario) === withoutOutput(text));
  setRun(answer, step);
  await updateLink();
  const broken = isChoice() && run.properties.some(p => p.text);
  $('status').textContent = run.failure ? '✗ Does not hold' : broken ? '✗ A property is violated' : '✓ Holds';
}

async function runScenario(text, options) {
  $('status').textContent = 'Running…';
  const answer = await answerTo({ scenario: text, all: $('all').checked && !options?.isLesson });
  if (answer) await accept(answer, text, options);
  return answer;
}

// runLesson shows the first step of a run of a lesson, and does something then.
async function runLesson(name, then) {
  if (await runScenario(examples.find(e => e.name === name).scenario, { step: -1, isLesson: true })) then();
}

// choose takes a step of mode choice. Another one than that of the run forks it.
function choose(c) {
  if (c.line === takenLine(run, now)) show(now + 1);
  else runScenario(extend(run, now, c.line), { step: now + 1 });
}

const moment = () => run.steps[now]?.at ?? run.from;

// edit runs the scenario with a fault at a moment, by default the current one, as another run. In mode choice, the fault is
// always the next step.
function edit(node, verb, at = moment()) {
  if (run.mode === 'trace') return;
  const line = `${verb} ${run.nodes[node].name}`;
  if (isChoice()) {
    const c = possible(line) ?? possible(line.replace('restart', 'start'));
    if (c) choose(c);
    else problems([{ text: `${line} is not possible now` }]);
    return;
  }
  fork(() => insert(scenario, at, line));
}

function fork(change) {
  try {
    runScenario(change());
  } catch (e) {
    problems([{ text: e.message }]);
  }
}

// editMessage drops or delivers a message, as another run. In mode time, takes is the time of its delivery in nanoseconds.
function editMessage(m, kind, takes) {
  if (!isChoice()) return fork(() => (kind === 'drop' ? loseMessage(scenario, run, m) : delayMessage(scenario, run, m, takes)));
  const c = choiceOf(run, now, m, kind);
  if (c) choose(c);
  else problems([{ text: `${messageText(run, m)}: it cannot ${kind === 'drop' ? 'be dropped' : 'be delivered'} at this step` }]);
}

const editChosen = kind => {
  const m = run.messages[chosen];
  if (m && canEdit(m)) editMessage(m, kind, (m.ended >= 0 ? m.ended - m.sent : 0) + delayStep());
};

function undo() {
  const before = past.pop();
  if (before) runScenario(before.scenario, { step: before.step, undoable: false });
}

function stop() {
  clearInterval(playing);
  playing = 0;
  $('play').textContent = '▶ Play';
}

function play() {
  if (playing) return stop();
  if (now >= run.steps.length - 1) show(first());
  $('play').textContent = '⏸ Pause';
  playing = setInterval(() => {
    show(now + 1);
    if (now >= run.steps.length - 1) stop();
  }, 500);
}

// enter changes the mode. A run in mode choice begins with the algorithm and the nodes of the current one, which agree.
function enter(mode) {
  if (run.mode === mode) return;
  const own = last[mode];
  if (mode === 'choice' && run.mode === 'time') {
    const text = asChoice(run, scenario), same = own?.scenario.startsWith(text);
    runScenario(same ? own.scenario : text, { step: same ? own.step : -1 });
  } else runScenario(own?.scenario ?? (mode === 'time' ? examples[0].scenario : asChoice(run, scenario)), { step: own?.step });
}

// showGoals offers the states that a search can reach with these nodes.
function showGoals() {
  const before = $('find-property').value, goals = run.mode === 'trace' ? [] : run.nodes.map(n => new Option(`${n.name} leads`, `goal:follows ${n.name} ${n.name}`));
  $('find-goals').replaceChildren(new Option('no running node follows a leader', 'goal:leader none'), ...goals);
  $('find-property').value = before;
  if ($('find-property').selectedIndex < 0) $('find-property').selectedIndex = 0;
}

function wanted() {
  const value = $('find-property').value, goal = value.startsWith('goal:') ? value.slice(5) : '';
  return { goal, property: goal ? '' : value };
}

// find searches from the current step for the shortest run with a property, and plays it.
async function find() {
  const number = id => Number($(id).value);
  const from = isChoice() ? prefix(run, now) : asChoice(run, scenario), controller = new AbortController();
  searching?.abort();
  searching = controller;
  $('found').textContent = 'Searching…';
  $('found').className = '';
  $('find-stop').hidden = false;
  const request = {
    scenario: from,
    find: {
      ...wanted(), crashes: number('find-crashes'), false_suspicions: number('find-suspicions'),
      campaigns: number('find-campaigns'), epochs: number('find-epochs'),
    },
  };
  const answer = await answerTo(request, controller.signal);
  if (searching !== controller) return;
  searching = null;
  $('find-stop').hidden = true;
  if (!answer) {
    $('found').textContent = controller.signal.aborted ? 'Stopped.' : '✗ Not searched.';
    return;
  }
  const f = answer.found, states = `${f.states.toLocaleString('en')} states`;
  if (!f.text) {
    $('found').textContent = f.complete ? `✓ No such run within these budgets: all ${states} were visited.` : `– Nothing was found in ${states}. The search ended early: ${f.cut}.`;
    return;
  }
  await accept(answer, from, { step: f.after - 1 });
  const more = answer.steps.length - f.after;
  if (!more) {
    $('found').textContent = '✓ That holds now, without another step.';
    return;
  }
  const text = f.property ? `✗ ${f.text}` : `✓ ${$('find-property').selectedOptions[0].text}`;
  $('found').textContent = `${text}, after ${more} more ${more === 1 ? 'step' : 'steps'}. No shorter run does that within these budgets.`;
  $('found').className = f.property ? 'bad' : 'good';
  play();
}

const editStep = verb => run.steps[now] && edit(run.steps[now].node, verb);
const actions = {
  first: () => show(first()), back: () => show(now - 1), next: () => show(now + 1), last: () => show(run.steps.length - 1),
  play, undo, run: () => runScenario($('scenario').value), crash: () => editStep('crash'), restart: () => editStep('restart'),
  lose: () => editChosen('drop'), delay: () => editChosen('deliver'),
  'mode-time': () => enter('time'), 'mode-choice': () => enter('choice'),
  'find-stop': () => searching?.abort(),
  save: () => save(isChoice() && $('scenario').value === scenario ? run.recorded : $('scenario').value),
};
for (const [id, act] of Object.entries(actions)) $(id).addEventListener('click', act);
$('find').addEventListener('submit', e => {
  e.preventDefault();
  find();
});

const keys = {
  j: 'next', ArrowDown: 'next', k: 'back', ArrowUp: 'back', Home: 'first', End: 'last', ' ': 'play', c: 'crash', r: 'restart', u: 'undo', x: 'lose', d: 'delay',
};
document.addEventListener('keydown', e => {
  if (e.key === 'Enter' && e.ctrlKey && !lessons.isAsking()) return actions.run();
  const isField = e.target.closest('textarea, select, input') || e.key === ' ' && e.target.closest('button, summary');
  if (isField || e.ctrlKey || e.metaKey || e.altKey || lessons.isAsking()) return;
  const number = isChoice() && /^[1-9]$/.test(e.key) ? numbered[e.key - 1] : null;
  if (number) choose(number);
  else if (e.key === 'm') selectNext();
  else if (e.key === 'l') $('lesson-title').focus();
  else if (e.key === 'n' && isChoice()) $('choices').querySelector('button')?.focus();
  else if (Object.hasOwn(keys, e.key)) {
    const id = keys[e.key];
    if (['next', 'back', 'first', 'last'].includes(id)) stop();
    actions[id]();
  } else return;
  e.preventDefault();
});
$('all').addEventListener('change', () => runScenario(scenario));
$('beside').addEventListener('change', updateLink);
$('examples').append(new Option('–', ''), ...examples.map((e, i) => new Option(e.title, i, i === 0, i === 0)));
$('examples').addEventListener('change', () => $('examples').value && runScenario(examples[$('examples').value].scenario));
openFiles($('file'), {
  scenario: text => runScenario(text),
  async trace(text) {
    $('status').textContent = 'Reading…';
    const answer = await answerTo({ trace: text, scenario: '' });
    if (!answer) return;
    if (run.mode !== 'trace') {
      last[run.mode] = { scenario, step: now };
      past.push({ scenario, step: now });
    }
    $('undo').disabled = false;
    history.replaceState(null, '', location.pathname);
    setRun(answer);
    $('status').textContent = `✓ ${answer.nodes.length} nodes, ${answer.steps.length} steps`;
  },
  failed: text => problems([{ text }]),
});
let width = 0;
new ResizeObserver(() => {
  if (run && $('diagram').clientWidth && $('diagram').clientWidth !== width) {
    width = $('diagram').clientWidth;
    draw();
    diagram.show(now);
    beside.redraw();
  } else diagram?.hide();
}).observe($('diagram'));

async function open() {
  const { hash } = location;
  if (lessons.start(hash)) return;
  if (lessons.isAsking()) lessons.leave();
  if (hash.startsWith('#lesson=')) $('status').textContent = `⚠ There is no lesson ${hash.slice(8)}`;
  let state = null;
  try {
    state = await decode(hash);
  } catch (e) {
    $('status').textContent = `⚠ The link is damaged: ${e.message}`;
  }
  if (state) {
    $('scenario').value = state.scenario;
    beside.choose(state.beside ?? '');
    await runScenario(state.scenario, { step: state.step, undoable: false });
  }
}
scenario = $('scenario').value = examples[0].scenario;
setRun(data('first-run'));
$('status').textContent = '✓ Holds';
addEventListener('hashchange', open);
open();
