// The link of the page carries the scenario and the step: #s= and compressed JSON.
const pipe = (bytes, through) => new Response(new Blob([bytes]).stream().pipeThrough(through)).arrayBuffer();

export async function encode(state) {
  const bytes = new Uint8Array(await pipe(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream('deflate-raw')));
  let text = '';
  for (const b of bytes) text += String.fromCharCode(b);
  return '#s=' + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// decode returns null if the link carries nothing, and throws if it is damaged.
export async function decode(hash) {
  if (!hash.startsWith('#s=')) return null;
  const text = atob(hash.slice(3).replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(text, c => c.charCodeAt(0));
  const state = JSON.parse(new TextDecoder().decode(await pipe(bytes, new DecompressionStream('deflate-raw'))));
  if (typeof state.scenario !== 'string') throw new Error('the link has no scenario');
  return state;
}
