import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { testDatabase } from '@portcullis/control/db/testing.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const LIMIT_MS = 60_000;
/** How long the supervisor lives: from the launch of Node to the end of loading on an idle machine. */
const LIFETIMES_MS = [0, 40, 120, 300, 800];

/** Starts the program like `up`, prints its pid, and dies without a trace. */
const SUPERVISOR = `
  const child = require('node:child_process').spawn(process.execPath, [process.argv[1]], {
    detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  require('node:fs').writeSync(1, String(child.pid));
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(process.argv[2]));`;

async function endsWithSupervisor(
  t: TestContext,
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  for (const lifetimeMs of LIFETIMES_MS) {
    const main = join(ROOT, program, 'main.ts');
    const run = spawnSync(process.execPath, ['-e', SUPERVISOR, main, String(lifetimeMs)], {
      env: { PATH: process.env['PATH'], ...env },
      encoding: 'utf8',
    });
    assert.equal(run.signal, 'SIGKILL');
    const pid = Number(run.stdout);
    t.after(() => {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    const deadline = Date.now() + LIMIT_MS;
    while (isRunning(pid)) {
      assert.ok(Date.now() < deadline, `${program} outlives a supervisor of ${lifetimeMs} ms`);
      await delay(20);
    }
  }
}

/** A zombie has ended. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'pcl-orphans-'));
  chmodSync(path, 0o711);
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('an edge ends with its supervisor at any moment of its start', async (t) => {
  const stateDir = join(folder(t), 'edge');
  mkdirSync(stateDir, { mode: 0o700 });
  const config = { name: 'fra1', linkPath: join(stateDir, 'none.sock'), stateDir };
  await endsWithSupervisor(t, 'edge', { PORTCULLIS_EDGE_CONFIG: JSON.stringify(config) });
});

test('a node and a collector end with their supervisor at any moment of their start', async (t) => {
  const stateDir = folder(t);
  const config = {
    name: 'one',
    linkPath: join(stateDir, 'none.sock'),
    credential: 'none',
    stateDir,
    engine: 'docker',
    dockerHost: 'unix:///nowhere',
    imagePull: 'missing',
    closedNetworks: [],
    openNetworks: [],
    mounts: [],
    accounts: { first: 200_000, last: 524_287 },
    sftp: null,
    onStop: 'leave',
  };
  const text = JSON.stringify(config);
  await endsWithSupervisor(t, 'node', { PORTCULLIS_NODE_CONFIG: text });
  await endsWithSupervisor(t, 'collector', { PORTCULLIS_COLLECTOR_CONFIG: text });
});

test('control ends with its supervisor at any moment of its start', async (t) => {
  const { url } = await testDatabase(t);
  await endsWithSupervisor(t, 'control', {
    DATABASE_URL: url,
    PORTCULLIS_DATA: join(folder(t), 'data'),
    PORTCULLIS_LISTEN: '127.0.0.1:0',
    PORTCULLIS_METRICS_LISTEN: 'off',
  });
});
