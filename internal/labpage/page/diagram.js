// The space-time diagram: a lane for each node, time downward. All text comes from a scenario, and is set as text.
const looks = 5; // of messages, by kind
const top = 12, right = 76, leastGap = 22;

function draw(parent, tag, attributes, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, typeof value === 'number' ? Math.round(value * 10) / 10 : value);
  if (text !== undefined) e.textContent = text;
  parent.append(e);
  return e;
}

export const inUnits = (run, at) => String(Math.round((at - run.from) / run.unit * 100) / 100);
export const kindsOf = run => [...new Set(run.messages.map(m => m.kind))];

// rows places each moment at a distance that shows the time between them. The fastest message takes unitGap. A long wait
// is shortened.
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

// drawRun draws a run. The functions of on are called with an index when a step, a message or a lane is chosen. After the
// head of a message was dragged, on.dragged is called with the message, and with the time of its end, or null off the lane.
// on.canDrag reports whether a message has such a head. on.lane also gets the moment, if a place on the lane was chosen.
export function drawRun(box, run, on) {
  const nodes = run.nodes.length, left = box.clientWidth < 500 ? 40 : 64;
  const pitch = Math.max(36, Math.min(320, (box.clientWidth - left - 20 - right) / Math.max(1, nodes - 1)));
  const y = rows(run, run.mode === 'choice' ? 34 : Math.max(40, Math.min(80, pitch * 0.4)));
  const x = node => left + 20 + node * pitch;
  const width = x(nodes - 1) + right, height = y.height + 24;
  box.replaceChildren();
  const head = draw(box, 'svg', { class: 'head', width, height: 28 }); // it stays in sight
  const plane = document.createElement('div');
  plane.className = 'plane';
  box.append(plane);
  const svg = draw(plane, 'svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
  // What follows the pointer is drawn above the picture, so that the browser need not paint the picture again.
  const over = draw(plane, 'svg', { class: 'over', width, height, 'aria-hidden': true });
  const ring = draw(over, 'circle', { class: 'ring', r: 9 }), line = draw(over, 'line', { class: 'none' });
  draw(svg, 'title', {}, `Space-time diagram of ${nodes} nodes, ${run.messages.length} messages`);

  run.epochs.forEach((e, i) => {
    const from = y.at(e.from), to = y.at(e.to);
    draw(svg, 'rect', { class: i % 2 ? 'epoch odd' : 'epoch', x: left - 6, y: from, width: width - left + 6, height: to - from });
    draw(svg, 'line', { class: 'epoch-line', x1: left - 6, y1: from, x2: width, y2: from });
    draw(svg, 'text', { class: 'epoch-name', x: width - 4, y: from + 13, 'text-anchor': 'end' }, `epoch ${e.epoch}`);
  });
  draw(head, 'text', { class: 'time', x: 4, y: 20 }, run.unit_name);
  let labelled = -Infinity, label = '';
  for (const at of y.sorted) {
    if (y.at(at) - labelled < 14 || inUnits(run, at) === label) continue;
    label = inUnits(run, at);
    draw(svg, 'text', { class: 'time', x: 4, y: y.at(at) + 4 }, label);
    labelled = y.at(at);
  }
  for (const at of y.shortened) draw(svg, 'text', { class: 'time', x: 12, y: at + 4 }, '⋮');

  run.nodes.forEach((n, i) => {
    const name = draw(head, 'text', { class: 'name', x: x(i), y: 20, 'text-anchor': 'middle' }, n.name);
    name.addEventListener('click', () => on.lane(i));
    if (run.mode !== 'trace') {
      for (const [attribute, value] of [['tabindex', 0], ['role', 'button'], ['aria-label', `${n.name}: crash it, or restart it`]]) name.setAttribute(attribute, value);
      name.addEventListener('keydown', e => {
        if (e.key !== 'Enter' && e.key !== ' ') return;
        e.preventDefault();
        e.stopPropagation();
        on.lane(i);
      });
    }
    let since = run.from;
    const lane = (from, to) => to > from && draw(svg, 'line', { class: 'lane', x1: x(i), x2: x(i), y1: y.at(from), y2: y.at(to) });
    for (const span of run.spans.filter(s => s.node === i).sort((a, b) => a.from - b.from)) {
      lane(since, span.from);
      since = span.to;
      if (span.kind !== 'down') draw(svg, 'line', { class: span.kind, x1: x(i), x2: x(i), y1: y.at(span.from), y2: y.at(span.to) });
      if (span.kind === 'leads') draw(svg, 'text', { class: 'star', x: x(i) + 7, y: y.at(span.from) + 15 }, '★');
    }
    lane(since, run.end);
    if (run.mode === 'trace') return;
    const touch = draw(svg, 'line', { class: 'touch lane-touch', x1: x(i), x2: x(i), y1: top, y2: y.height });
    draw(touch, 'title', {}, run.mode === 'choice' ? `click: crash or restart ${n.name} after this step` : `click: crash or restart ${n.name} at this moment`);
    touch.addEventListener('click', e => {
      const snap = run.unit / 4, at = y.timeAt(e.clientY - svg.getBoundingClientRect().top);
      on.lane(i, Math.max(run.from, Math.round(at / snap) * snap));
    });
  });

  const kinds = kindsOf(run), drag = dragging(over, run, x, y, pitch, on), grips = [];
  const bands = drawBands(svg, box, height), bandOf = m => bands.at(y.at(m.sent));
  const messages = run.messages.map(m => {
    const band = bandOf(m), drawn = drawMessage(band.messages, m, kinds.indexOf(m.kind) % looks, run, x, y, on, grips);
    band.bottom = Math.max(band.bottom, drawn.y2);
    return drawn;
  });
  const steps = run.steps.map(s => drawStep(bands.at(y.at(s.at)).steps, s, x(s.node), y.at(s.at), on));
  for (const grip of grips) drawGrip(bandOf(grip.m).grips, grip, run, on, drag); // above the steps at which the arrows end
  bands.hide();
  for (const p of run.properties.filter(p => p.step >= 0)) {
    const s = run.steps[p.step], fits = x(s.node) + 20 + 8 * p.name.length < width;
    draw(svg, 'text', { class: 'broken', x: x(s.node) + (fits ? 20 : -12), y: y.at(s.at) + 16, 'text-anchor': fits ? 'start' : 'end' }, `✗ ${p.name}`);
  }
  let shown = run.steps.length - 1;
  const isLater = (m, now) => m.step > now || m.step < 0 && m.by > now;
  return {
    hide: bands.hide,
    // show fades what comes after a step, and marks that step and a message. It touches only what changes.
    show(now, message = -1) {
      const s = run.steps[now], m = messages[message];
      line.setAttribute('class', m ? `over-message m${m.look} d${m.look}` : 'none');
      if (m) for (const name of ['x1', 'y1', 'x2', 'y2']) line.setAttribute(name, m[name]);
      if (now !== shown) {
        for (let i = Math.min(now, shown) + 1; i <= Math.max(now, shown); i++) steps[i].classList.toggle('later', i > now);
        run.messages.forEach((m, i) => isLater(m, now) !== isLater(m, shown) && messages[i].g.classList.toggle('later'));
        shown = now;
      }
      if (m) return; // a pointer over messages changes the line alone, and reads no layout
      ring.setAttribute('class', s ? 'ring' : 'none');
      if (s) {
        ring.setAttribute('cx', x(s.node));
        ring.setAttribute('cy', y.at(s.at));
        const at = y.at(s.at) + 28, page = box.clientHeight;
        if (at < box.scrollTop + 60 || at > box.scrollTop + page - 40) box.scrollTop = at - page / 2;
      }
    },
  };
}

// drawBands divides the picture into bands, and hides those that are out of sight: the browser looks for what is under the
// pointer in all others. A band has the messages that are sent in it, and the steps.
function drawBands(svg, box, height) {
  const size = 400, margin = 200, bands = [];
  for (let top = 0; top <= height; top += size) {
    const g = draw(svg, 'g', {});
    bands.push({ g, top, bottom: top + size, messages: draw(g, 'g', {}), steps: draw(g, 'g', {}), grips: draw(g, 'g', {}) });
  }
  const hide = () => {
    const from = box.scrollTop - margin, to = from + box.clientHeight + 2 * margin;
    for (const band of bands) band.g.classList.toggle('hidden', band.bottom < from || band.top > to);
  };
  box.onscroll = hide;
  return { hide, at: y => bands[Math.min(bands.length - 1, Math.floor(y / size))] };
}

// dragging returns a function that begins to drag the head of a message. A move changes two elements, and reads no layout.
function dragging(over, run, x, y, pitch, on) {
  return (grip, m, x1, y1, start) => {
    const ghost = draw(over, 'line', { class: 'ghost', x1, y1, x2: x1, y2: y1 }), label = draw(over, 'text', { class: 'ghost-label' });
    const box = over.getBoundingClientRect(); // once
    let result;
    const move = e => {
      if (result === undefined && Math.hypot(e.clientX - start.clientX, e.clientY - start.clientY) < 4) return; // a click
      const px = e.clientX - box.left, py = Math.max(y1, e.clientY - box.top), off = Math.abs(px - x(m.to)) > Math.max(24, Math.min(60, pitch * 0.4));
      const snap = run.unit / 4, at = m.sent + Math.max(0, Math.round((y.timeAt(py) - m.sent) / snap) * snap);
      result = off ? null : at;
      ghost.setAttribute('x2', px);
      ghost.setAttribute('y2', py);
      ghost.classList.toggle('off', off);
      label.setAttribute('x', px + 12);
      label.setAttribute('y', py - 6);
      label.textContent = off ? '✕ lost' : run.mode === 'choice' ? 'deliver' : `takes ${inUnits({ ...run, from: 0 }, at - m.sent)} ${run.unit_name}`;
    };
    const end = e => {
      grip.removeEventListener('pointermove', move);
      for (const event of ['pointerup', 'pointercancel']) grip.removeEventListener(event, end);
      removeEventListener('keydown', escape, true);
      ghost.remove();
      label.remove();
      if (e.type === 'pointerup' && result !== undefined) on.dragged(m, result);
    };
    const escape = e => {
      if (e.key !== 'Escape') return;
      e.stopPropagation();
      end(e);
    };
    grip.setPointerCapture(start.pointerId);
    grip.addEventListener('pointermove', move);
    for (const event of ['pointerup', 'pointercancel']) grip.addEventListener(event, end);
    addEventListener('keydown', escape, true);
    start.preventDefault();
  };
}

function drawGrip(svg, { m, x, y, x1, y1, names }, run, on, drag) {
  const grip = draw(svg, 'circle', { class: 'grip', cx: x, cy: y, r: 9, 'data-message': m.id });
  draw(grip, 'title', {}, run.mode === 'choice' ? `${names}: drag to its lane to deliver it, off it to drop it` : `${names}: drag to delay it, off the lane to lose it`);
  grip.addEventListener('pointerdown', e => e.button === 0 && drag(grip, m, x1, y1, e));
  for (const event of ['mouseenter', 'click']) grip.addEventListener(event, () => on.message(m.id, event === 'click'));
}

function drawMessage(svg, m, look, run, x, y, on, grips) {
  let x1 = x(m.from), y1 = y.at(m.sent), x2 = x(m.to), y2 = m.ended < 0 ? y.height : y.at(m.ended);
  if (m.lost && m.ended === m.sent) { // as soon as it was sent
    x2 = x1 + (x2 - x1) * 0.6;
    y2 = y1 + leastGap / 2;
  } else if (m.ended < 0) { // in flight
    x2 = x1 + (x2 - x1) * 0.5;
    y2 = Math.min(y2, y1 + leastGap);
  }
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  x2 -= 6 * dx;
  y2 -= 6 * dy;
  const g = draw(svg, 'g', { class: `message m${look} d${look}`, tabindex: -1, 'data-message': m.id });
  const names = `${m.kind} ${run.nodes[m.from].name} → ${run.nodes[m.to].name}`;
  draw(g, 'title', {}, m.lost ? `${names}, lost: ${m.lost}` : names);
  draw(g, 'line', { class: 'touch', x1, y1, x2, y2 });
  draw(g, 'line', { class: 'shaft', x1, y1, x2, y2 });
  if (m.lost) draw(g, 'path', { class: 'lost', d: `M${x2 - 5} ${y2 - 5}l10 10m0 -10l-10 10` });
  else if (m.ended >= 0) {
    const bx = x2 - 9 * dx, by = y2 - 9 * dy;
    draw(g, 'polygon', { points: `${x2},${y2} ${bx - 4 * dy},${by + 4 * dx} ${bx + 4 * dy},${by - 4 * dx}` });
  }
  const back = Math.min(10, length / 3); // from the head, which several messages may share
  if (on.canDrag(m)) grips.push({ m, x: x2 - back * dx, y: y2 - back * dy, x1, y1, names });
  for (const event of ['mouseenter', 'focus', 'click']) g.addEventListener(event, () => on.message(m.id, event === 'click'));
  return { g, look, x1, y1, x2, y2 };
}

const signs = { crash: '✕', drop: '', suspect: '?', trust: '!', pause: '‖', resume: '▸', expire: '◷', start: '○', restart: '○' };

function drawStep(svg, s, x, y, on) {
  const g = draw(svg, 'g', { class: `step ${s.kind}`, 'data-step': s.id });
  draw(g, 'title', {}, s.text);
  draw(g, 'circle', { class: 'touch', cx: x, cy: y, r: 9 });
  const sign = s.kind === 'note' && s.text.includes('campaign') ? '⚑' : signs[s.kind];
  if (sign) {
    draw(g, 'circle', { class: 'mark', cx: x, cy: y, r: 7 });
    draw(g, 'text', { class: 'sign', x, y: y + 4, 'text-anchor': 'middle' }, sign);
  } else if (s.kind !== 'drop') draw(g, 'circle', { class: 'dot', cx: x, cy: y, r: 3 });
  g.addEventListener('click', () => on.step(s.id));
  return g;
}
