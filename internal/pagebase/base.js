// What the pages share: elements, and the lanes of a space-time diagram, time downward. All text is set as text, and none of
// it as markup.
export const leastGap = 22; // of two moments
const top = 12, right = 76;

export function element(tag, text, kind) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}

// terms returns the elements of a list of terms and values.
export const terms = pairs => pairs.map(([term, value]) => {
  const pair = element('div');
  pair.append(element('dt', term), element('dd', value));
  return pair;
});

export function draw(parent, tag, attributes, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, typeof value === 'number' ? Math.round(value * 10) / 10 : value);
  if (text !== undefined) e.textContent = text;
  parent.append(e);
  return e;
}

export const inUnits = (run, at) => String(Math.round((at - run.from) / run.unit * 100) / 100);

// rows places each moment at a distance that shows the time between them. The fastest message takes unitGap. A long wait
// is shortened. Without messages, all distances are equal.
function rows(run, unitGap) {
  const mostGap = 1.6 * unitGap;
  const moments = new Set([run.from, run.end]);
  for (const s of run.steps) moments.add(s.at);
  for (const m of run.messages) if (m.sent >= run.from) moments.add(m.sent);
  for (const span of run.spans) moments.add(span.from).add(span.to);
  const sorted = [...moments].sort((a, b) => a - b);
  const fastest = Math.min(...run.messages.filter(m => m.ended > m.sent).map(m => m.ended - m.sent));
  const y = new Map(), shortened = [];
  let now = top;
  sorted.forEach((at, i) => {
    if (i) {
      const wanted = unitGap * (at - sorted[i - 1]) / fastest;
      const gap = Math.min(mostGap, Math.max(leastGap, wanted || 0));
      if (wanted > 3 * mostGap) shortened.push(now + gap / 2);
      now += gap;
    }
    y.set(at, now);
  });
  return {
    sorted, shortened, height: now, at: time => y.get(Math.max(time, run.from)),
    // timeAt is the inverse of at, for any height.
    timeAt(height) {
      const i = sorted.findLastIndex(t => y.get(t) <= height), from = sorted[Math.max(0, i)];
      if (i >= 0 && i + 1 < sorted.length) {
        const to = sorted[i + 1];
        return from + (to - from) * (height - y.get(from)) / (y.get(to) - y.get(from));
      }
      return from + (height - y.get(from)) / unitGap * (Number.isFinite(fastest) ? fastest : run.unit);
    },
  };
}

// drawLanes draws the epochs, the moments and the lanes of a run, in place of what is in box: a lane is thick while its node
// leads, and absent while it is down. label returns the text of a moment, which has a width of margin at most. The names of
// the nodes stay in sight, in an SVG of their own.
export function drawLanes(box, run, title, label = at => inUnits(run, at), margin = box.clientWidth < 500 ? 34 : 58) {
  const nodes = run.nodes.length, left = margin + 6, short = name => (name.length > 16 ? `${name.slice(0, 8)}…${name.slice(-7)}` : name);
  const least = Math.max(32, 8 + 8 * Math.max(...run.nodes.map(n => short(n.name).length))), first = left + Math.max(20, least / 2), after = Math.max(right, least / 2); // a name has room
  const pitch = Math.max(least, Math.min(320, (box.clientWidth - first - after) / Math.max(1, nodes - 1)));
  const y = rows(run, run.mode === 'choice' ? 34 : Math.max(40, Math.min(80, pitch * 0.4)));
  const x = node => first + node * pitch;
  const width = x(nodes - 1) + after, height = y.height + 24;
  box.replaceChildren();
  const head = draw(box, 'svg', { class: 'head', width, height: 28 });
  const plane = element('div', undefined, 'plane');
  box.append(plane);
  const svg = draw(plane, 'svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
  draw(svg, 'title', {}, title);
  run.epochs.forEach((e, i) => {
    const from = y.at(e.from), to = y.at(e.to);
    draw(svg, 'rect', { class: i % 2 ? 'epoch odd' : 'epoch', x: left - 6, y: from, width: width - left + 6, height: to - from });
    draw(svg, 'line', { class: 'epoch-line', x1: left - 6, y1: from, x2: width, y2: from });
    draw(svg, 'text', { class: 'epoch-name', x: width - 4, y: from + 13, 'text-anchor': 'end' }, `epoch ${e.epoch}`);
  });
  draw(head, 'text', { class: 'time', x: 4, y: 20 }, run.unit_name);
  let labelled = -Infinity, last = '';
  for (const at of y.sorted) {
    if (y.at(at) - labelled < 14 || label(at) === last) continue;
    last = label(at);
    draw(svg, 'text', { class: 'time', x: 4, y: y.at(at) + 4 }, last);
    labelled = y.at(at);
  }
  for (const at of y.shortened) draw(svg, 'text', { class: 'time', x: 12, y: at + 4 }, '⋮');
  const names = run.nodes.map((n, i) => {
    let since = run.from;
    const line = (kind, from, to) => to > from && draw(svg, 'line', { class: kind, x1: x(i), x2: x(i), y1: y.at(from), y2: y.at(to) });
    for (const span of run.spans.filter(s => s.node === i).sort((a, b) => a.from - b.from)) {
      line('lane', since, span.from);
      since = span.to;
      if (span.kind !== 'down') line(span.kind, span.from, span.to);
      if (span.kind === 'leads') draw(svg, 'text', { class: 'star', x: x(i) + 7, y: y.at(span.from) + 15 }, '★');
    }
    line('lane', since, run.end);
    const name = draw(head, 'text', { class: 'name', x: x(i), y: 20, 'text-anchor': 'middle' }, short(n.name));
    if (short(n.name) !== n.name) draw(name, 'title', {}, n.name);
    return name;
  });
  return { plane, svg, names, x, y, pitch, width, height };
}
