// The space-time diagram: lanes, and over them messages and steps. All text comes from a scenario, and is set as text.
import { draw, drawLanes, inUnits, leastGap } from './base.js';

const looks = 5; // of messages, by kind

export const kindsOf = run => [...new Set(run.messages.map(m => m.kind))];

// drawRun draws a run. The functions of on are called with an index when a step, a message or a lane is chosen. After the
// head of a message was dragged, on.dragged is called with the message, and with the time of its end, or null off the lane.
// on.canDrag reports whether a message has such a head. on.lane also gets the moment, if a place on the lane was chosen.
export function drawRun(box, run, on) {
  const title = `Space-time diagram of ${run.nodes.length} nodes, ${run.messages.length} messages`;
  const { plane, svg, names, x, y, pitch, width, height } = drawLanes(box, run, title);
  // What follows the pointer is drawn above the picture, so that the browser need not paint the picture again.
  const over = draw(plane, 'svg', { class: 'over', width, height, 'aria-hidden': true });
  for (const [x, y] of [[0, 0], [width - 1, height - 1]]) draw(over, 'rect', { class: 'corner', x, y, width: 1, height: 1 }); // its bounds never change
  const ring = draw(over, 'circle', { class: 'ring', r: 9 }), line = draw(over, 'line', { class: 'none' });
  names.forEach((name, i) => openLane(svg, name, run, i, x, y, on));

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

// openLane lets the reader choose a node by its name, or a moment on its lane.
function openLane(svg, name, run, node, x, y, on) {
  if (run.mode === 'trace') return;
  const { name: text } = run.nodes[node];
  for (const [attribute, value] of [['tabindex', 0], ['role', 'button'], ['aria-label', `${text}: crash it, or restart it`]]) name.setAttribute(attribute, value);
  name.addEventListener('click', () => on.lane(node));
  name.addEventListener('keydown', e => {
    if (e.key !== 'Enter' && e.key !== ' ') return;
    e.preventDefault();
    e.stopPropagation();
    on.lane(node);
  });
  const touch = draw(svg, 'line', { class: 'touch lane-touch', x1: x(node), x2: x(node), y1: y.at(run.from), y2: y.height });
  draw(touch, 'title', {}, run.mode === 'choice' ? `click: crash or restart ${text} after this step` : `click: crash or restart ${text} at this moment`);
  touch.addEventListener('click', e => {
    const snap = run.unit / 4, at = y.timeAt(e.clientY - svg.getBoundingClientRect().top);
    on.lane(node, Math.max(run.from, Math.round(at / snap) * snap));
  });
}

// drawBands divides the picture into bands, and hides those that are out of sight: the browser looks for what is under the
// pointer in all others. A band has the messages that are sent in it, and the steps.
function drawBands(svg, box, height) {
  const size = 100, margin = 200, bands = [];
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
