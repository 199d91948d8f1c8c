// Lessons: a lesson asks a question, and hides all runs until the answer. Then its runs play, and the answer is compared
// with what they show.
import { element } from './base.js';
import { leadersAt } from './details.js';

const $ = id => document.getElementById(id);
const lessons = JSON.parse($('lesson-data').textContent);
export const own = m => !m.repeat && m.step >= 0; // a message that counts

const leaders = (run, at) => leadersAt(run, at < 0 ? run.end : run.from + at * run.unit).length;
const plural = (n, what) => `${n || 'no'} ${what}${n === 1 ? '' : 's'}`;
const moment = (run, at) => (at < 0 ? 'at its end' : `at ${at} ${run.unit_name}`);

// measures return what the first runs of a lesson show: a number, and a sentence.
const measures = {
  messages([run]) {
    const n = run.messages.filter(own).length;
    return [n, `The run shows ${plural(n, 'message')}.`];
  },
  leaders([run], at) {
    const n = leaders(run, at);
    return [n, `The run shows ${plural(n, 'leader')} ${moment(run, at)}.`];
  },
  'runs with two leaders'(runs, at) {
    const n = runs.filter(run => leaders(run, at) > 1).length;
    return [n, `${n} of the ${runs.length} runs show two leaders ${moment(runs[0], at)}.`];
  },
  writes([run], at) {
    const tokens = run.spans.filter(s => s.kind === 'leads' && s.from <= run.from + at * run.unit).sort((a, b) => a.from - b.from).map(s => s.epoch);
    const all = [...tokens, tokens[0]], n = all.filter((token, i) => token >= Math.max(...all.slice(0, i + 1))).length;
    return [n, `The leaders of the run have the tokens ${tokens.join(' and ')}. A resource that gets ${tokens.join(', ')} and the late ${tokens[0]} accepts ${plural(n, 'write')}.`];
  },
};

function html(text) {
  const box = element('div');
  box.innerHTML = text; // part of the page, made from the lessons
  return box;
}

function fold(title, ...texts) {
  const d = element('details');
  d.append(element('summary', title), ...texts.map(html));
  return d;
}

// openLessons lists the lessons. on.play is called with the name of a run, on.end to show its last step, on.ask when a
// question hides the current run, and on.leave when the lesson is over.
export function openLessons(on) {
  let lesson = null, said = null, at = -1, hasEnded = false, results = [];
  const link = l => {
    const a = element('a', `${l.number}. ${l.title}`);
    a.href = `#lesson=${l.number}`;
    return a;
  };
  const run = () => lesson?.runs[at];
  for (const l of lessons) $('lessons').appendChild(element('li')).append(link(l));
  $('lessons').addEventListener('click', e => {
    if (e.target.hash === location.hash) start(location.hash); // no hashchange follows
  });

  function show(asking) {
    document.body.classList.toggle('asking', asking);
    for (const id of ['lessons', 'lesson-hint']) $(id).hidden = Boolean(lesson);
    $('lesson-title').textContent = lesson ? `Lesson ${lesson.number}: ${lesson.title}` : 'Lessons';
    $('predict').hidden = !asking;
    $('lesson-leave').hidden = !lesson;
    $('lesson-next').hidden = !run();
    for (const id of ['lesson-text', 'verdict', 'lesson-after']) $(id).replaceChildren();
    if (!lesson) return;
    $('lesson-title').focus();
    $('lesson-title').scrollIntoView({ block: 'nearest' });
  }

  // start asks the question of the lesson that a link names, and reports whether the link names one.
  function start(hash) {
    const found = lessons.find(l => hash === `#lesson=${l.number}`);
    if (!found) return false;
    [lesson, said, at, results] = [found, null, -1, []];
    on.ask();
    show(true);
    $('prediction').value = '';
    $('lesson-text').append(html(lesson.situation), element('h3', 'Question'), html(lesson.question));
    return true;
  }

  function answer(text) {
    said = text.replace(/[\s.!]+$/, '') || null;
    play(0);
  }

  function play(i) {
    [at, hasEnded] = [i, false];
    show(false);
    const before = i ? lesson.runs[i - 1].text : lesson.intro;
    $('lesson-text').append(fold('Situation and question', lesson.situation, lesson.question), element('h3', `Run ${i + 1} of ${lesson.runs.length}`), html(before));
    if (i < lesson.measure.runs) $('lesson-text').append(element('p', said === null ? 'You did not predict.' : `Your answer: ${said}`, 'what'));
    $('lesson-next').textContent = 'To the end of this run';
    document.querySelector('.picture').scrollIntoView({ block: 'nearest' }); // below the text on a narrow screen
    on.play(run().name);
  }

  // end shows what follows a run: what it shows, if it answers the question, and the text of the lesson.
  function end(result) {
    if (!run() || hasEnded) return;
    hasEnded = true;
    results[at] = result;
    const { quantity, runs, at: when } = lesson.measure, isLast = at === lesson.runs.length - 1;
    if (at === runs - 1) {
      const [, text] = measures[quantity](results, when);
      const words = said?.toLowerCase().split(/[^\p{L}\p{N}]+/u) ?? [], isRight = words.some(w => lesson.accepted.includes(w));
      const verdict = said === null ? text : `${isRight ? '✓ Right: you' : '✗ You'} answered ${said}. ${text}`;
      $('verdict').append(element('p', verdict, said === null ? 'what' : `what ${isRight ? 'good' : 'bad'}`), html(lesson.answer));
    }
    const text = html(lesson.runs[at].text);
    if (isLast) {
      const next = lessons.find(l => l.number === lesson.number + 1);
      text.append(fold('Explanation', lesson.explanation), fold('Exercise', lesson.exercise));
      if (next) text.append(element('p', 'Next: '));
      if (next) text.lastChild.append(link(next));
    }
    $('lesson-after').append(text);
    $('lesson-next').hidden = isLast;
    $('lesson-next').textContent = 'Next run';
    $('verdict').scrollIntoView({ block: 'nearest' });
  }

  function leave() {
    [lesson, at] = [null, -1];
    show(false);
    on.leave();
  }

  $('predict').addEventListener('submit', e => {
    e.preventDefault();
    answer($('prediction').value);
  });
  $('unknown').addEventListener('click', () => answer(''));
  $('lesson-leave').addEventListener('click', leave);
  $('lesson-next').addEventListener('click', () => (hasEnded ? play(at + 1) : on.end(run().name)));
  return {
    start, end, leave,
    isAsking: () => Boolean(lesson) && at < 0,
    link: () => lesson && `#lesson=${lesson.number}`,
  };
}
