// The page of a node. Its module begins with base.js. All that it shows may come from an untrusted source, and is set as text.
const every = 2000; // ms between two looks at the status
const most = 20; // changes that are shown
const changes = []; // the last one first
const names = new Map(); // of all that were ever seen, by id
let status = null, lost = null;

const $ = id => document.getElementById(id);
const name = id => names.get(id) || String(id).slice(0, 8);
const clock = at => new Date(at).toLocaleTimeString();
const age = ms => {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min';
  return s < 172800 ? Math.floor(s / 3600) + ' h' : Math.floor(s / 86400) + ' days';
};
const period = ns => {
  const ms = ns / 1e6;
  if (ms < 0.1) return '< 0.1 ms';
  if (ms < 1000) return (ms < 10 ? ms.toFixed(1) : Math.round(ms)) + ' ms';
  return ms < 60000 ? (ms / 1000).toFixed(1) + ' s' : age(ms);
};

// The cause of an election in words. A reason that is in no table is shown as it is.
const causes = {
  start: 'started', campaign: 'was asked for an election', reconfigure: 'learned that the leader is no longer eligible',
  expire: 'got no answer in time', receive: 'announced it', trust: 'hears the leader again',
};
const suspicions = {
  silence: 'heard nothing of', refused: 'was refused by the address of', goodbye: 'heard the goodbye of', restart: 'saw a restart of',
};
const cause = call => {
  const by = name(call.caller);
  if (!Object.hasOwn(suspicions, call.reason)) return `${by} ${Object.hasOwn(causes, call.reason) ? causes[call.reason] : call.reason}`;
  return `${by} ${suspicions[call.reason]} ${call.previous ? name(call.previous) : 'the leader'}` + (call.silent_for_ns ? ` for ${period(call.silent_for_ns)}` : '');
};

// A state is shown by its sign and its word. The colour is never the only sign.
const signs = { self: ['●', 'good'], alive: ['●', 'good'], connected: ['○', ''], indirect: ['◐', 'bad'], suspected: ['▲', 'bad'], unknown: ['–', ''] };
const stateOf = m => {
  const [sign, kind] = Object.hasOwn(signs, m.state) ? signs[m.state] : ['?', ''];
  return element('td', `${sign} ${m.state === 'self' ? 'this node' : m.state}`, kind);
};

const facts = pairs => $('facts').replaceChildren(...terms(pairs));

function showLeader() {
  if (changes.length === 0) return;
  const leader = changes[0].leader;
  const text = leader ? `★ ${leader.name} leads` : '∅ No leader is known';
  if ($('leader').textContent !== text) $('leader').textContent = text; // it is read out when it changes
  $('leader').className = 'leader ' + (leader ? 'good' : 'bad');
  const other = changes.findIndex(c => (c.leader && c.leader.epoch) !== (leader && leader.epoch));
  const since = changes[(other < 0 ? changes.length : other) - 1].at;
  const begun = ['Since', `${clock(since)} (${age(Date.now() - new Date(since))})`];
  facts(leader ? [begun, ['Epoch', leader.epoch], ['Token', leader.token], ['Address', leader.addr]] : [begun]);
}

function showStatus() {
  if (!status) return;
  document.title = `${status.cluster} – elect`;
  $('cluster').textContent = status.cluster;
  $('asked').textContent = `seen by ${name(status.node)}, algorithm ${status.algorithm}` + (status.committed ? '' : ', members not committed');
  $('members').replaceChildren(...status.members.slice().sort((a, b) => a.name < b.name ? -1 : 1).map(m => {
    const row = element('tr'), leads = m.id === status.leader;
    row.append(element('td', m.name), element('td', leads ? '★ leader' : m.standby ? 'standby' : m.eligible ? 'follower' : 'witness', leads ? 'mark' : ''),
      stateOf(m), element('td', age(Date.now() - new Date(m.since)) + ' ago'), element('td', m.addr));
    return row;
  }));
  const warnings = status.warnings || [];
  $('warned').hidden = warnings.length === 0;
  $('warnings').replaceChildren(...warnings.map(w => {
    const item = element('li'), at = element('time', clock(w.at));
    at.dateTime = w.at;
    item.append(at, element('div', `⚠ ${w.text}`, 'what'), element('span', w.count > 1 ? `${w.count} times` : '', 'took'));
    return item;
  }));
  const contacts = status.pending_contacts || [];
  $('missing').hidden = contacts.length === 0;
  $('awaited').replaceChildren(...contacts.map(a => {
    const item = element('li');
    item.append(element('span', a.addr), element('span', a.answer));
    return item;
  }));
}

function showChanges() {
  if (changes.length === 0) return;
  $('changes').replaceChildren(...changes.slice(0, most).map(c => {
    const item = element('li'), at = element('time', clock(c.at));
    const what = element('div', c.leader ? `★ ${c.leader.name} leads, epoch ${c.leader.epoch}` : '∅ no leader is known', 'what');
    at.dateTime = c.at;
    at.title = new Date(c.at).toLocaleString();
    if (c.election) what.append(element('span', cause(c.election), 'cause soft'));
    item.append(at, what, element('span', c.took_ns && c.election.previous ? period(c.took_ns) : '', 'took'));
    return item;
  }));
}

// runOf returns changes, the oldest one first, as a run for drawLanes. A moment is the index of a change: the clock may be set back.
function runOf(past) {
  const ids = new Set([...status.members, ...past.map(c => c.leader).filter(Boolean)].map(m => m.id)), spans = [], epochs = [];
  const nodes = [...ids].map(id => ({ id, name: name(id) })).sort((a, b) => a.name < b.name ? -1 : 1);
  // add adds the time of a change, or extends what it continues.
  const add = (all, isSame, next) => (isSame ? all.at(-1).to = next.to : all.push(next));
  past.forEach(({ leader }, from) => {
    if (!leader) return;
    const { epoch } = leader, node = nodes.findIndex(n => n.id === leader.id), span = spans.at(-1), to = from + 1;
    add(spans, span?.to === from && span.node === node && span.epoch === epoch, { kind: 'leads', node, epoch, from, to });
    add(epochs, epochs.at(-1)?.epoch === epoch, { epoch, from, to });
  });
  return { unit_name: 'Time', from: 0, end: past.length, nodes, spans, epochs, steps: [], messages: [] };
}

let drawn = '';
function showLanes() {
  const past = changes.slice(0, most).reverse();
  $('history').hidden = !status || past.length < 2;
  if ($('history').hidden) return;
  const run = runOf(past), label = i => (i < past.length ? clock(past[i].at) : 'now');
  const key = JSON.stringify([run, past.map((_, i) => label(i)), $('lanes').clientWidth]);
  if (key !== drawn) drawLanes($('lanes'), run, `Lanes of ${run.nodes.length} nodes`, label, 76);
  drawn = key;
}

function show() {
  showLeader();
  showStatus();
  showChanges();
  showLanes();
  $('link').textContent = lost ? `⚠ Not connected since ${clock(lost)}: what stands here is from then` : '✓ live';
  $('link').className = lost ? 'bad' : 'good';
}

async function look() {
  try {
    const answer = await fetch('status', { cache: 'no-store', signal: AbortSignal.timeout(2 * every) });
    if (!answer.ok) throw new Error(answer.statusText);
    status = await answer.json();
    for (const m of status.members) names.set(m.id, m.name);
    lost = null;
  } catch {
    lost = lost || Date.now();
  }
  show();
}

let run = '';
function listen() {
  const source = new EventSource('events');
  source.addEventListener('change', event => {
    const from = event.lastEventId.split('-')[0];
    if (from !== run) changes.length = 0; // the node was started again
    run = from;
    const change = JSON.parse(event.data);
    if (change.leader) names.set(change.leader.id, change.leader.name);
    changes.unshift(change);
    changes.length = Math.min(changes.length, 64);
    look();
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, every); // it does not come back by itself
  };
}

listen();
look();
setInterval(() => { if (!document.hidden) look(); }, every);
document.addEventListener('visibilitychange', () => { if (!document.hidden) look(); });
