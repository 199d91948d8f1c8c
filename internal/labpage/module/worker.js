// The worker of an exported page. Before it stands wasm_exec.js of Go. It takes the module once, as base64 of gzip, and
// then one request after another.
let ready;

async function load(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const go = new Go();
  const { instance } = await WebAssembly.instantiateStreaming(new Response(plain, { headers: { 'Content-Type': 'application/wasm' } }), go.importObject);
  go.run(instance); // it sets electLab before it waits for requests
}

onmessage = async ({ data }) => {
  if (data.module) {
    ready = load(data.module);
    ready.catch(() => {}); // the next request reports it
    return;
  }
  try {
    await ready;
    postMessage(electLab(data.call, data.request));
  } catch (e) {
    postMessage({ error: e.message });
  }
};
