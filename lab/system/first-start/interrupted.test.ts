import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { onTerminal, RunningCommand, type TerminalCommand } from '@portcullis/cli/testing/run.ts';
import { isSoak } from '@portcullis/core/testing/repeated.ts';
import { skipUnless } from '../../requirements.ts';

/** The steps that a first start prints; the others are interrupted in the soak. */
const STEPS = [
  'Starting the database',
  'Preparing the fleet',
  ...(isSoak() ? ['Starting the edge', 'Starting the node'] : []),
  'Building the game server',
];

suite('a first start that is interrupted', { skip: skipUnless(['python3', 'postgres']) }, () => {
  test('by Ctrl-C at a step, has shown its key, or the next start shows another', async (t) => {
    const start = starterIn(t);
    const shown: string[] = [];
    for (const step of STEPS) {
      const up = start();
      // Only a start that makes the game server builds it.
      const isAt = (out: string): boolean => out.includes(step) || out.includes('Ctrl-C stops it');
      await up.printsWhere(isAt);
      up.interrupt();
      const { code, out } = await up.end();
      assert.equal(code, 0, out);
      shown.push(...keysIn(out));
    }
    await assertKnown(start.dataDir, shown);
  });

  test('by Ctrl-C twice, which kills it, has the key replaced by the next start', async (t) => {
    const start = starterIn(t);
    const killed = start();
    await killed.printsWhere((out) => out.includes('Preparing the fleet'));
    killed.interrupt();
    killed.interrupt();
    const before = keysIn((await killed.end()).out);
    const next = start();
    await next.printsWhere((out) => out.includes('Starting the edge'));
    next.interrupt();
    await assertKnown(start.dataDir, [...before, ...keysIn((await next.end()).out)]);
  });
});

function starterIn(t: TestContext): { (): TerminalCommand; readonly dataDir: string } {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-interrupted-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // As root, PostgreSQL runs as another account, which must traverse the folder.
  chmodSync(folder, 0o711);
  const dataDir = join(folder, 'data');
  const env = { PATH: process.env['PATH'], HOME: folder };
  const args = ['up', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
  return Object.assign(() => onTerminal(args, env), { dataDir });
}

function keysIn(out: string): string[] {
  return [...out.matchAll(/^\s*(pcl_\w+)\s*$/gm)].map(([, key]) => key ?? '');
}

/** The one active key is the last one that was shown. */
async function assertKnown(dataDir: string, shown: readonly string[]): Promise<void> {
  const env = { PATH: process.env['PATH'], HOME: dataDir };
  const listing = new RunningCommand(['keys', 'list', '--json', '--data', dataDir], env);
  const { out, err } = await listing.end();
  const { data: keys } = JSON.parse(out || '{"data":[]}') as {
    data: { hint: string; revoked_at: string | null }[];
  };
  const active = keys.filter((key) => key.revoked_at === null);
  assert.equal(active.length, 1, `${out}${err}`);
  assert.ok(shown.at(-1)?.startsWith(active[0]?.hint ?? 'none'), `${out}${shown.join(' ')}`);
}
