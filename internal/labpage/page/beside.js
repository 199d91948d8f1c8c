// Another algorithm under the same faults: the scenario of the page with that algorithm, drawn beside its run.
import { ask } from './ask.js';
import { inUnits } from './base.js';
import { leadersAt, messageText, stepText } from './details.js';
import { drawRun } from './diagram.js';
import { own } from './lesson.js';

const $ = id => document.getElementById(id);

// withAlgorithm returns a scenario of mode time with another algorithm. Options, assertions and output belong to the first.
const withAlgorithm = (text, name) => text
  .replace(/^[ \t]*(?:>|(?:algorithm|option|leader|follows|epoch|violates)\b).*\n?/gm, '')
  .replace(/^(?=[ \t]*(?:timing|detector|seed|delay|loss|duplicate|reorder|cluster)\b)/m, `algorithm ${name}\n`);

// openBeside returns what the page calls: update with a scenario, or '' if there is none in mode time; show with a moment;
// and redraw after a change of the width.
export function openBeside() {
  const select = $('beside'), box = $('beside-diagram');
  let scenario = '', run = null, diagram = null, moment = 0, requests = 0;

  function redraw() {
    if (!run) return;
    diagram = drawRun(box, { ...run, mode: 'trace' }, { // nothing can be changed here
      step: id => setStatus(`${inUnits(run, run.steps[id].at)} ${run.unit_name}: ${stepText(run, run.steps[id])}`),
      message: id => setStatus(messageText(run, run.messages[id])),
      lane() {}, dragged() {}, canDrag: () => false,
    });
    show(moment);
  }

  const setStatus = text => { $('beside-status').textContent = text; };

  function show(at) {
    moment = at;
    if (!run) return;
    const step = run.steps.findLastIndex(s => s.at <= at), sent = run.messages.filter(m => own(m) && m.step <= step).length;
    diagram.show(Math.max(0, step));
    const leaders = leadersAt(run, Math.min(at, run.end)), broken = run.properties.filter(p => p.text && p.step <= step).map(p => `✗ ${p.name}`);
    $('beside-counts').textContent = [
      `${sent} ${sent === 1 ? 'message' : 'messages'} so far`,
      leaders.length ? leaders.map(name => `★ ${name} leads`).join(', ') : '– No node leads', ...broken,
    ].join(' · ');
  }

  async function update(text) {
    const number = ++requests, name = select.value;
    scenario = text;
    run = null;
    $('beside-choice').hidden = !text;
    $('beside-run').hidden = !text || !name;
    if ($('beside-run').hidden) return;
    $('beside-title').textContent = name;
    $('beside-counts').textContent = '';
    setStatus('Running…');
    box.replaceChildren();
    let answer, problem = '';
    try {
      answer = await ask({ scenario: withAlgorithm(text, name) });
    } catch (e) {
      problem = e.problems?.map(p => p.text).join('; ') ?? e.message;
    }
    if (number !== requests) return; // a later scenario, or algorithm
    setStatus(problem ? `✗ Not run: ${problem}` : answer.failure ? `✗ Does not hold: ${answer.failure.text}` : '');
    if (!answer) return;
    run = answer;
    redraw();
  }

  select.addEventListener('change', () => update(scenario));
  return { update, show, redraw, name: () => select.value, choose: name => { select.value = name; } };
}
