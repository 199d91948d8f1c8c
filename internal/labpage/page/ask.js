// The one function underneath: a request of package lab, as an object, and its result. It returns null if signal ended it.
// An error has problems: a list of line, column and text.
export async function ask(request, signal) {
  let response, answer;
  try {
    response = await fetch('run', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request), signal });
    answer = await response.json();
  } catch (e) {
    if (e.name === 'AbortError') return null;
    throw e;
  }
  if (response.ok) return answer;
  throw Object.assign(new Error('not run'), { problems: answer.problems });
}
