// The module inside of an exported page: package lab as WebAssembly, in a worker, so that a long run does not hold up the
// page. It answers as the server does. The module of a page from a server is null.
const data = document.getElementById('module');
const maxTime = 20; // seconds of a run, as of the server
let worker = null, last = Promise.resolve();

// start starts the worker, which loads the module.
function start() {
  const code = new Blob([document.getElementById('module-worker').textContent], { type: 'text/javascript' });
  const started = new Worker(URL.createObjectURL(code));
  started.postMessage({ module: data.textContent });
  return started;
}

// stop ends the run of the worker. The next request starts another one.
function stop() {
  worker.terminate();
  worker = null;
}

// run sends a request to the worker, and returns its answer.
function run(call, request, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return resolve({ answer: null });
    worker ??= start();
    const end = (report, value) => {
      clearTimeout(limit);
      signal?.removeEventListener('abort', abort);
      report(value);
    };
    const abort = () => {
      stop();
      end(resolve, { answer: null });
    };
    const fail = text => {
      stop();
      end(reject, new Error(`the module of this page: ${text}`));
    };
    const limit = setTimeout(() => {
      stop();
      end(resolve, { ok: false, answer: { problems: [{ line: 0, column: 0, text: `the run takes longer than ${maxTime}s: run a shorter time, or fewer nodes` }] } });
    }, 1000 * maxTime);
    signal?.addEventListener('abort', abort);
    worker.onmessage = ({ data }) => data.error ? fail(data.error) : end(resolve, { ok: data.ok, answer: JSON.parse(data.text) });
    worker.onerror = e => fail(e.message);
    worker.postMessage({ call, request: JSON.stringify(request) });
  });
}

export const module = data && {
  // ask sends a request, an object, to a call of the lab, after the answer to the request before. It returns ok, and the
  // answer: a result, or problems, or null if signal has ended the run.
  ask(call, request, signal) {
    const answer = last.then(() => run(call, request, signal));
    last = answer.catch(() => {});
    return answer;
  },
};

// The first picture needs no module. It is loaded after that, so that the first edit need not wait for it.
if (data) addEventListener('load', () => setTimeout(() => { worker ??= start(); }));
