import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

test('a command that cannot be started for want of descriptors fails alone', () => {
  const module = new URL('command.ts', import.meta.url).href;
  const program = `
    import { openSync } from 'node:fs';
    const { runCommand } = await import('${module}');
    try { for (;;) openSync('/dev/null'); } catch {}
    const { signal } = new AbortController();
    const outcome = await runCommand(['/bin/true'], '', signal).then(() => 'ran', () => 'rejected');
    // The error of the process comes after this.
    await new Promise((resolve) => setImmediate(resolve));
    console.log(outcome);`;
  const script = 'ulimit -n 64; exec "$0" --no-warnings --input-type=module -e "$1"';
  const output = execFileSync('sh', ['-c', script, process.execPath, program], {
    encoding: 'utf8',
  });
  assert.equal(output, 'rejected\n');
});
