// Files: a scenario to save or to open, and traces of a live cluster.
const most = 4 << 20; // bytes of all traces together, as in package lab

// save offers a text as a file.
export function save(text) {
  const a = document.createElement('a'), url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  a.href = url;
  a.download = 'scenario.txt';
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// openFiles calls on.scenario or on.trace with the text of files that are chosen, or dropped on the page.
export function openFiles(input, on) {
  async function read(files) {
    if (!files.length) return;
    const size = [...files].reduce((sum, f) => sum + f.size, 0);
    if (size > most) return on.failed(`${files[0].name}: ${size} bytes, want at most ${most}`);
    const texts = await Promise.all([...files].map(f => f.text()));
    const traces = texts.filter(t => t.trimStart().startsWith('{'));
    if (traces.length === texts.length) on.trace(traces.map(t => t.trimEnd()).join('\n') + '\n');
    else if (texts.length === 1) on.scenario(texts[0].replaceAll('\r\n', '\n'));
    else on.failed('want one scenario, or traces only');
  }
  input.addEventListener('change', async () => {
    await read(input.files);
    input.value = ''; // so that the same file can be opened again
  });
  const isFile = e => e.dataTransfer?.types.includes('Files');
  for (const event of ['dragenter', 'dragover']) {
    addEventListener(event, e => {
      if (!isFile(e)) return;
      e.preventDefault();
      document.body.classList.add('dropping');
    });
  }
  addEventListener('dragleave', e => !e.relatedTarget && document.body.classList.remove('dropping'));
  addEventListener('drop', e => {
    document.body.classList.remove('dropping');
    if (!isFile(e)) return;
    e.preventDefault();
    read(e.dataTransfer.files);
  });
}
