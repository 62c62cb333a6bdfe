import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

test('a firewall whose program cannot be started for want of descriptors is refused, and ends nothing else', () => {
  const module = new URL('guard.ts', import.meta.url).href;
  const program = `
    import { openSync } from 'node:fs';
    const { createGuard } = await import('${module}');
    const guard = createGuard({ command: ['/bin/true'], resolvers: async () => [] });
    try { for (;;) openSync('/dev/null'); } catch {}
    const plan = { table: 'x', bridges: [], published: [] };
    const outcome = await guard.apply(plan).then(() => 'ran', ({ code }) => code);
    // The error of the process comes after this.
    await new Promise((resolve) => setImmediate(resolve));
    console.log(outcome);`;
  const script = 'ulimit -n 64; exec "$0" --no-warnings --input-type=module -e "$1"';
  const output = execFileSync('sh', ['-c', script, process.execPath, program], {
    encoding: 'utf8',
  });
  assert.equal(output, 'refused\n');
});
