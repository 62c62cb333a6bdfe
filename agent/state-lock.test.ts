import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { lockState, StateInUse } from './state-lock.ts';

const HOLDER = `
  const { lockState } = await import(process.argv[1]);
  await lockState({ agent: 'edge', stateDir: process.argv[2], path: process.argv[2] + '/agent.lock' });
  process.stdout.write('held');
  setInterval(() => {}, 1000);
`;

it('locks a state directory for one agent, until it exits or is killed', async (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-lock-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const module = join(import.meta.dirname, 'state-lock.ts');
  const lock = { agent: 'edge', stateDir, path: join(stateDir, 'agent.lock') };
  const holder = spawn(
    process.execPath,
    ['--input-type=module', '--eval', HOLDER, module, stateDir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(holder.stdout, 'data');
  await assert.rejects(lockState({ ...lock, timeoutMs: 100 }), (error: Error) => {
    assert.ok(error instanceof StateInUse);
    assert.match(error.message, new RegExp(`another edge \\(process ${holder.pid}\\) works on`));
    return true;
  });
  const waiting = lockState({ ...lock, timeoutMs: 10_000 });
  holder.kill('SIGKILL');
  await waiting;
});
