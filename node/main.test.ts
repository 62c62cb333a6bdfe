import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CONFIG_VARIABLE, type NodeConfig } from './config.ts';
import { serverFolder } from './server-folder/folder.ts';
import { NODE, TestControl } from './testing/control.ts';
import { assignmentOf, EGG, uuidOf } from './testing/eggs.ts';

it('locks its state directory: rejects a second agent, and accepts the next one after the first was killed', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'pcl-alone-'));
  const started: ChildProcess[] = [];
  t.after(() => {
    for (const agent of started) agent.kill('SIGKILL');
    rmSync(home, { recursive: true });
  });
  const config: NodeConfig = {
    name: 'node-1',
    linkPath: join(home, 'nobody.sock'),
    credential: 'none',
    stateDir: join(home, 'state'),
    engine: 'process',
    dockerHost: 'unix:///nowhere',
    imagePull: 'always',
    closedNetworks: [],
    openNetworks: [],
    onStop: 'leave',
  };
  const begin = (): ChildProcess => {
    const env = { ...process.env, [CONFIG_VARIABLE]: JSON.stringify(config) };
    const agent = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
      env,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    started.push(agent);
    return agent;
  };
  const first = begin();
  first.stderr?.resume();
  await once(first, 'message');

  const second = begin();
  const output = text(second.stderr as NodeJS.ReadableStream);
  const [code] = (await once(second, 'exit')) as [number | null];
  assert.equal(code, 1);
  assert.equal(
    await output,
    `portcullis node: another node (process ${first.pid}) works on ${config.stateDir}\n`,
  );

  first.kill('SIGKILL');
  await once(first, 'exit');
  const third = begin();
  third.stderr?.resume();
  await once(third, 'message');
});

it('does not start with closed networks on an engine that cannot enforce them', () => {
  const config: NodeConfig = {
    name: 'node-1',
    linkPath: '/dev/null/no.sock',
    credential: 'none',
    stateDir: mkdtempSync(join(tmpdir(), 'pcl-closed-')),
    engine: 'process',
    dockerHost: 'unix:///nowhere',
    imagePull: 'always',
    closedNetworks: ['10.0.0.0/8'],
    openNetworks: [],
    onStop: 'leave',
  };
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    env: { ...process.env, [CONFIG_VARIABLE]: JSON.stringify(config) },
    encoding: 'utf8',
  });
  rmSync(config.stateDir, { recursive: true });
  assert.equal(status, 1);
  assert.match(stderr, /^portcullis node: networks can only be closed to servers in Docker/m);
});

it('stops its servers on a second stop signal during the wait', {
  timeout: 60_000,
}, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'pcl-twice-'));
  chmodSync(home, 0o711);
  const control = new TestControl();
  const stateDir = join(home, 'state');
  mkdirSync(stateDir, { mode: 0o711 });
  const config: NodeConfig = {
    name: NODE,
    linkPath: join(home, 'nodes.sock'),
    credential: 'none',
    stateDir,
    engine: 'process',
    dockerHost: 'unix:///nowhere',
    imagePull: 'always',
    closedNetworks: [],
    openNetworks: [],
    onStop: 'end',
  };
  await control.listen(config.linkPath);
  // It saves for a second, long enough for the second signal.
  const game = `trap "echo >asked; sleep 1; echo >saved; exit" TERM; echo ready; for n in $(seq 600); do sleep 0.1; done`;
  const egg = {
    ...EGG,
    images: [{ label: 'game', reference: 'portcullis/hearth', local: true }],
    launch: 'startup' as const,
    startup: `sh -c '${game}'`,
    protocols: [],
  };
  const digest = createHash('sha256').update(JSON.stringify(egg)).digest('hex');
  control.assign([assignmentOf(1, digest)], { [digest]: egg });
  const agent = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    env: { ...process.env, [CONFIG_VARIABLE]: JSON.stringify(config) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  t.after(async () => {
    agent.kill('SIGKILL');
    await control.close();
    rmSync(home, { recursive: true });
  });
  await control.reported(uuidOf(1), ({ state }) => state === 'built');
  assert.deepEqual(await control.call(uuidOf(1), { kind: 'power', signal: 'start' }), {
    kind: 'accepted',
  });
  await control.reported(uuidOf(1), ({ power }) => power === 'running');
  const folder = serverFolder(stateDir, uuidOf(1));
  const ended = once(agent, 'exit');
  agent.kill('SIGTERM');
  while (!existsSync(join(folder, 'asked')) && !t.signal.aborted) await delay(10);
  agent.kill('SIGTERM');
  agent.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);
  assert.ok(existsSync(join(folder, 'saved')));
});
