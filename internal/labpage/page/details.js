// Texts about a step, its messages, and the nodes at that moment.
import { element, inUnits, terms } from './base.js';

export function button(text, act) {
  const e = element('button', text, 'link');
  e.type = 'button';
  e.onclick = act;
  return e;
}

const isAlike = (a, b) => a.nodeName === b.nodeName && a.className === b.className;

// update makes parts the content of an element. It keeps the elements that fit, and changes their texts: for a new element,
// the browser would look for its style.
function update(box, parts) {
  parts.forEach((part, i) => {
    const old = box.childNodes[i];
    if (!old) box.append(part);
    else if (!isAlike(old, part)) old.replaceWith(part);
    else if (part.nodeType !== Node.TEXT_NODE) {
      old.onclick = part.onclick;
      update(old, [...part.childNodes]);
    } else if (old.data !== part.data) old.data = part.data;
  });
  while (box.childNodes.length > parts.length) box.lastChild.remove();
}

export const messageText = (run, m) => `${m.kind} ${run.nodes[m.from].name} → ${run.nodes[m.to].name}` + (m.lost ? `, ✕ lost: ${m.lost}` : m.ended < 0 ? ', in flight' : '');

// when returns a moment in words.
const when = (run, at) => (run.mode === 'choice' ? `step ${at}` : `${inUnits(run, at)} ${run.unit_name}`);

// stepText returns a step in words.
export function stepText(run, s) {
  const m = run.messages[s.message];
  if (!m) return `${run.nodes[s.node].name} ${s.text || s.kind}`;
  return m.lost ? messageText(run, m) : `${run.nodes[s.node].name} receives ${m.kind} from ${run.nodes[m.from].name}`;
}

const lines = (run, state) => new Map((run.states[state] ?? '').split('\n').filter(Boolean).map(l => {
  const space = l.indexOf(' ');
  return [l.slice(0, space), l.slice(space + 1)];
}));

function changes(run, s) {
  const before = lines(run, s.before), after = lines(run, s.after);
  const table = element('table');
  const head = element('tr');
  for (const text of ['Field', 'Before', 'After']) head.append(element('th', text));
  table.append(head);
  for (const field of new Set([...before.keys(), ...after.keys()])) {
    if (before.get(field) === after.get(field)) continue;
    const row = element('tr');
    row.append(element('th', field), element('td', before.get(field) ?? '–'), element('td', after.get(field) ?? '–'));
    table.append(row);
  }
  return table.rows.length > 1 ? table : element('p', 'The state of the node is unchanged.', 'soft');
}

function fields(m) {
  const list = element('dl');
  list.append(...terms(m.fields.map(f => [f.name, f.value])));
  return list;
}

// showStep fills box with a step. go is called with the index of another step.
export function showStep(box, run, s, go) {
  if (!s) return update(box, [element('p', 'The run has no step in this part.')]);
  const parts = [element('p', `${s.id + 1} of ${run.steps.length}` + (run.mode === 'choice' ? '' : `, at ${when(run, s.at)}`), 'soft'), element('p', stepText(run, s), 'what')];
  const m = run.messages[s.message];
  if (m) {
    parts.push(fields(m));
    const cause = run.messages[m.cause];
    if (m.step >= 0) {
      const p = element('p', 'Sent when ');
      p.append(button(stepText(run, run.steps[m.step]), () => go(m.step)), cause ? `: ${messageText(run, cause)} has caused it.` : '.');
      parts.push(p);
    }
  }
  if (s.notes.length) {
    const list = element('ul');
    for (const n of s.notes) list.append(element('li', n));
    parts.push(list);
  }
  if (s.kind !== 'drop' && run.mode !== 'trace') parts.push(changes(run, s));
  for (const id of s.sent) {
    const sent = run.messages[id], p = element('p', 'Sends ');
    p.append(sent.by >= 0 ? button(messageText(run, sent), () => go(sent.by)) : messageText(run, sent));
    parts.push(p);
  }
  update(box, parts);
}

// showMessage fills box with a message, and with what its receiver changed.
export function showMessage(box, run, m, go) {
  const parts = [element('p', messageText(run, m), 'what'), fields(m)];
  parts.push(element('p', `Sent at ${when(run, m.sent)}` + (m.ended >= 0 ? `, ended at ${when(run, m.ended)}.` : '.'), 'soft'));
  const cause = run.messages[m.cause];
  if (cause) {
    const p = element('p', 'Caused by ');
    p.append(button(messageText(run, cause), () => go(cause.by)));
    parts.push(p);
  } else if (m.step >= 0) parts.push(element('p', `Caused by: ${stepText(run, run.steps[m.step])}`));
  if (m.by >= 0 && !m.lost && run.mode !== 'trace') parts.push(element('p', `${run.nodes[m.to].name} changed:`), changes(run, run.steps[m.by]));
  update(box, parts);
}

// statesAt returns the state of each node after a step.
function statesAt(run, now) {
  const states = run.nodes.map(n => n.state);
  for (const s of run.steps.slice(0, now + 1)) if (s.kind !== 'drop') states[s.node] = s.after;
  return states;
}

export function spanAt(run, node, at) {
  return run.spans.find(s => s.node === node && s.from <= at && (at < s.to || s.to === run.end));
}

const words = { leads: '★ leads', down: '✕ down', paused: '‖ paused' };

// timersOf returns the timers of a node that run after a step, in words.
function timersOf(run, node, now, at) {
  return run.timers.filter(t => t.node === node && t.first <= now && now <= t.last)
    .map(t => t.until < 0 ? t.name : `${t.name}, ends in ${inUnits({ ...run, from: 0 }, Math.max(0, t.until - at))} ${run.unit_name}`);
}

// leadersAt returns the nodes that lead at a moment.
export function leadersAt(run, at) {
  return run.nodes.filter((_, i) => spanAt(run, i, at)?.kind === 'leads').map(n => n.name);
}

export function showNodes(box, run, now) {
  const at = run.steps[now]?.at ?? run.from;
  const open = new Set([...box.querySelectorAll('details[open]')].map(d => d.dataset.node));
  box.replaceChildren(...statesAt(run, now).map((state, i) => {
    const span = spanAt(run, i, at), d = element('details');
    d.dataset.node = i;
    d.open = open.has(String(i));
    d.append(element('summary', `${run.nodes[i].name} ${words[span?.kind] ?? '● runs'}` + (span?.epoch ? ` in epoch ${span.epoch}` : '')));
    if (run.nodes[i].id) d.append(element('p', `ID ${run.nodes[i].id}`, 'soft'));
    const timers = timersOf(run, i, now, at);
    if (state >= 0) d.append(element('p', timers.length ? `◷ Timers: ${timers.join('; ')}` : '◷ No timer runs.', 'soft'));
    d.append(element('pre', run.states[state] ?? (run.mode === 'trace' ? 'A trace has no states.' : 'It does not run.')));
    return d;
  }));
}
