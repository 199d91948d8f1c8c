// The one function underneath: a request of package lab, as an object, and its result. It returns null if signal ended it.
// An error has problems: a list of line, column and text.
import { module } from './module.js';

export async function ask(request, signal) {
  const { ok, answer } = await (module ? module.ask('run', request, signal) : post('run', request, signal));
  if (!answer || ok) return answer;
  throw Object.assign(new Error('not run'), { problems: answer.problems });
}

// post sends a request to the server of the page.
async function post(call, request, signal) {
  try {
    const response = await fetch(call, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request), signal });
    return { ok: response.ok, answer: await response.json() };
  } catch (e) {
    if (e.name === 'AbortError') return { answer: null };
    throw e;
  }
}
