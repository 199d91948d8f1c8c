// An edit at a moment of the run is a command in the text of the scenario.
const units = { ns: 1, us: 1e3, 'µs': 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 3.6e12 };

export function parseTime(text) {
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) sum += Number(number) * units[unit];
  return Math.round(sum);
}

export const formatTime = ns => ns % 1e3 ? `${ns}ns` : ns % 1e6 ? `${ns / 1e3}us` : `${ns / 1e6}ms`;

// insert returns the scenario with a command at a moment. It divides the run that contains the moment. It omits the
// recorded output, which an edit changes.
export function insert(scenario, at, command) {
  const lines = scenario.split('\n').filter(line => !line.trimStart().startsWith('>'));
  let now = 0;
  for (let i = 0; i < lines.length; i++) {
    const [verb, argument] = lines[i].trim().split(/\s+/);
    if (verb === 'await') throw new Error(`line ${i + 1}: the duration of await is not fixed, so no command can follow it at a moment`);
    if (verb !== 'run' && verb !== 'at') continue;
    const end = verb === 'run' ? now + parseTime(argument) : Math.max(now, parseTime(argument));
    if (at < end) {
      const rest = verb === 'run' ? `run ${formatTime(end - at)}` : lines[i];
      lines.splice(i, 1, ...(at > now ? [`run ${formatTime(at - now)}`] : []), command, rest);
      return lines.join('\n');
    }
    now = end;
  }
  while (lines.length && !lines.at(-1).trim()) lines.pop();
  return [...lines, command, 'run 1s', ''].join('\n');
}

// insertBefore returns the scenario with a command shortly before a moment, and after all earlier ones of the run.
export function insertBefore(scenario, run, at, command) {
  const earlier = Math.max(-1, ...run.steps.filter(s => s.at < at).map(s => s.at));
  const before = [1e6, 1e3, 1].map(gap => at - gap).find(t => t > earlier && t >= 0);
  if (before === undefined) throw new Error('the message is sent as the cluster starts: no command can come before it');
  return insert(scenario, before, command);
}

const names = (run, m) => `${run.nodes[m.from].name} ${run.nodes[m.to].name} ${m.kind}`;

// loseMessage and delayMessage return the scenario in which a message is lost, or takes a time in nanoseconds.
export const loseMessage = (scenario, run, m) => insertBefore(scenario, run, m.sent, `drop-next ${names(run, m)}`);
export const delayMessage = (scenario, run, m, takes) => insertBefore(scenario, run, m.sent, `delay-next ${names(run, m)} ${formatTime(takes)}`);
