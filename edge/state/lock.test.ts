import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { lockState, StateInUse } from './lock.ts';

const HOLDER = `
  const { lockState } = await import(process.argv[1]);
  await lockState(process.argv[2]);
  process.stdout.write('held');
  setInterval(() => {}, 1000);
`;

it('lets one agent at a time work on a state directory, and the next as soon as it was killed', async (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-lock-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const lock = join(import.meta.dirname, 'lock.ts');
  const holder = spawn(
    process.execPath,
    ['--input-type=module', '--eval', HOLDER, lock, stateDir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(holder.stdout, 'data');
  await assert.rejects(lockState(stateDir, 100), (error: Error) => {
    assert.ok(error instanceof StateInUse);
    assert.match(error.message, new RegExp(`another edge \\(process ${holder.pid}\\) works on`));
    return true;
  });
  const waiting = lockState(stateDir, 10_000);
  holder.kill('SIGKILL');
  await waiting;
});
