// Mode choice: what can happen next is a list, and the next step is the reader's.
import { element } from './base.js';
import { button } from './details.js';

const groups = [['Messages', ['deliver', 'drop']], ['Timers', ['expire']], ['Detectors', ['suspect', 'trust']], ['Nodes', ['campaign', 'crash', 'restart', 'start']]];

export const choicesAt = (run, now) => (run.next[now + 1] ?? []).map(id => run.choices[id]);

const key = (from, to, kind, fields) => JSON.stringify([from, to, kind, fields]);
const keyOfMessage = m => key(m.from, m.to, m.kind, m.fields);
const keyOfChoice = c => key(c.peer, c.node, c.message, c.fields);

// inFlight returns the messages that have not ended after a step, by what they say. Equal ones count as one.
export function inFlight(run, now) {
  const all = new Map();
  for (const m of run.messages) if (m.step <= now && (m.by < 0 || m.by > now) && !all.has(keyOfMessage(m))) all.set(keyOfMessage(m), m.id);
  return all;
}

// choiceOf returns the choice that delivers or drops a message after a step.
export const choiceOf = (run, now, m, kind) => choicesAt(run, now).find(c => c.kind === kind && keyOfChoice(c) === keyOfMessage(m));

export function choiceText(run, c) {
  const name = i => run.nodes[i].name, fields = c.line.split(' ').slice(4).join(' ');
  switch (c.kind) {
    case 'deliver': case 'drop': return `${c.message} ${name(c.peer)} → ${name(c.node)}${fields && ` (${fields})`}`;
    case 'expire': return `timer ${c.message} of ${name(c.node)} ends`;
    case 'suspect': return `${name(c.node)} suspects ${name(c.peer)}${c.line.endsWith('wrongly') ? ', which runs' : ', which was down'}`;
    case 'trust': return `${name(c.node)} trusts ${name(c.peer)}`;
    case 'campaign': return `${name(c.node)} starts an election`;
    case 'crash': return `${name(c.node)} crashes`;
    case 'restart': return `${name(c.node)} starts again`;
  }
  return `${name(c.node)} starts`;
}

// takenLine is the line of the step that follows in the run.
export const takenLine = (run, now) => run.steps[now + 1] && run.scenario.split('\n')[run.steps[now + 1].line - 1]?.trim();

// showChoices fills box, and returns the choices that have a number, in order. choose is called with a choice.
export function showChoices(box, run, now, choose) {
  const all = choicesAt(run, now), flying = inFlight(run, now), taken = takenLine(run, now), numbered = [];
  const drops = new Map(all.filter(c => c.kind === 'drop').map(c => [keyOfChoice(c), c]));
  const item = (c, kind) => {
    const li = element('li'), again = c.kind === 'deliver' && !flying.has(keyOfChoice(c));
    numbered.push(c);
    const b = button(`${numbered.length} ${kind}${choiceText(run, c)}`, () => choose(c));
    b.className = 'choice';
    b.dataset.line = c.line;
    if (c.line === taken) b.setAttribute('aria-current', 'true');
    li.append(b);
    if (again) li.append(element('span', 'again', 'soft'));
    const drop = drops.get(keyOfChoice(c));
    if (c.kind === 'deliver' && drop) li.append(dropButton(run, drop, choose));
    return li;
  };
  const parts = [];
  for (const [title, kinds] of groups) {
    const own = all.filter(c => kinds.includes(c.kind) && c.kind !== 'drop' && c.changes);
    // A message to a node that is down can only be dropped.
    const lost = title === 'Messages' ? [...drops.values()].filter(d => !all.some(c => c.kind === 'deliver' && keyOfChoice(c) === keyOfChoice(d))) : [];
    if (!own.length && !lost.length) continue;
    const list = element('ul');
    list.append(...own.map(c => item(c, c.kind === 'deliver' ? 'deliver ' : '')), ...lost.map(d => {
      const li = element('li');
      li.append(element('span', `${choiceText(run, d)}: its receiver is down`, 'soft'), dropButton(run, d, choose));
      return li;
    }));
    parts.push(element('h3', title), list);
  }
  const same = all.filter(c => !c.changes && c.kind !== 'drop');
  if (same.length) {
    const more = element('details'), list = element('ul');
    list.append(...same.map(c => item(c, c.kind === 'deliver' ? 'deliver ' : '')));
    more.append(element('summary', `${same.length} more that change nothing`), list);
    parts.push(more);
  }
  if (!all.length) parts.push(element('p', 'Nothing can happen any more.', 'soft'));
  box.replaceChildren(...parts);
  return numbered;
}

function dropButton(run, c, choose) {
  const b = button('drop', () => choose(c));
  b.setAttribute('aria-label', `drop ${choiceText(run, c)}`);
  b.dataset.line = c.line;
  return b;
}

// extend returns the scenario up to a step, with one more line. Later steps are left out.
export function extend(run, now, line) {
  return [...upTo(run, now), line, ''].join('\n');
}

// prefix returns the scenario up to a step.
export const prefix = (run, now) => [...upTo(run, now), ''].join('\n');

function upTo(run, now) {
  const lines = run.scenario.split('\n');
  return lines.slice(0, now >= 0 ? run.steps[now].line : lines.findIndex(l => /^\s*cluster\s/.test(l)) + 1);
}

// asChoice returns a scenario of mode choice with the algorithm and the nodes of a run in mode time. A lease needs clocks,
// so it is left out.
export function asChoice(run, scenario) {
  const lines = scenario.split('\n').map(l => l.replace(/#.*/, '').trim());
  const cluster = lines.find(l => l.startsWith('cluster ')) ?? 'cluster 3', head = lines.slice(0, lines.indexOf(cluster));
  const algorithm = (head.find(l => l.startsWith('algorithm '))?.slice(10).trim() ?? (run.algorithm || 'bully')).replace('+lease', '');
  const options = head.filter(l => l.startsWith('option ') && !l.startsWith('option lease.'));
  return [`# ${algorithm}, step by step`, 'mode choice', `algorithm ${algorithm}`, ...options, 'start-agreed', cluster, ''].join('\n');
}
