import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { require } from '@portcullis/lab/requirements.ts';
import { CONFIG_VARIABLE, type NodeConfig } from './config.ts';
import { DEFAULT_ACCOUNTS } from './server-folder/account-range.ts';
import { serverFolder } from './server-folder/folder.ts';
import { NODE, TestControl } from './testing/control.ts';
import { assignmentOf, EGG, uuidOf } from './testing/eggs.ts';

interface Started {
  readonly config: NodeConfig;
  /** Starts a node of this configuration. */
  begin(): ChildProcess;
}

/** In a folder of its own, with the process engine; what it started is killed after the test. */
function configured(t: TestContext, changes: Partial<NodeConfig>): Started {
  const home = mkdtempSync(join(tmpdir(), 'pcl-main-'));
  chmodSync(home, 0o711);
  const stateDir = join(home, 'state');
  mkdirSync(stateDir, { mode: 0o711 });
  const started: ChildProcess[] = [];
  t.after(() => {
    for (const agent of started) agent.kill('SIGKILL');
    rmSync(home, { recursive: true });
  });
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
    mounts: [],
    accounts: DEFAULT_ACCOUNTS,
    sftp: null,
    files: null,
    onStop: 'leave',
    ...changes,
  };
  const begin = (): ChildProcess => {
    const agent = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
      env: { ...process.env, [CONFIG_VARIABLE]: JSON.stringify(config) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    started.push(agent);
    return agent;
  };
  return { config, begin };
}

async function failureOf(agent: ChildProcess): Promise<string> {
  const output = text(agent.stderr as NodeJS.ReadableStream);
  assert.equal(((await once(agent, 'exit')) as [number | null])[0], 1);
  return output;
}

it('locks its state directory: rejects a second agent, and accepts the next one after the first was killed', async (t) => {
  const { config, begin } = configured(t, {});
  const first = begin();
  first.stderr?.resume();
  await once(first, 'message');
  assert.equal(
    await failureOf(begin()),
    `portcullis node: another node (process ${first.pid}) works on ${config.stateDir}\n`,
  );
  first.kill('SIGKILL');
  await once(first, 'exit');
  const third = begin();
  third.stderr?.resume();
  await once(third, 'message');
});

it('does not start with closed networks on an engine that cannot enforce them', async (t) => {
  const { begin } = configured(t, { closedNetworks: ['10.0.0.0/8'] });
  assert.match(
    await failureOf(begin()),
    /^portcullis node: networks can only be closed to servers in Docker/m,
  );
});

it('closes its directory to other accounts, and runs each server as an account of its own', async (t) => {
  if (!require(t, ['root'])) return;
  const { config, begin } = configured(t, {});
  const control = new TestControl();
  await control.listen(config.linkPath);
  t.after(() => control.close());
  // By the working directory alone, since it may not look above it.
  const tries = `ls .. ; ls ../${uuidOf(2)}; cat ${config.stateDir}/agent.lock; cd ~ && id -u`;
  const egg = {
    ...EGG,
    images: [{ label: 'game', reference: 'portcullis/hearth', local: true }],
    launch: 'startup' as const,
    startup: `sh -c '(${tries}) >seen 2>refused; echo ready; read x'`,
    protocols: [],
  };
  const digest = createHash('sha256').update(JSON.stringify(egg)).digest('hex');
  control.assign([assignmentOf(1, digest), assignmentOf(2, digest)], { [digest]: egg });
  chmodSync(config.stateDir, 0o755);
  const agent = begin();
  agent.stderr?.resume();
  const folders = [1, 2].map((number) => serverFolder(config.stateDir, uuidOf(number)));
  for (const number of [1, 2]) {
    await control.reported(uuidOf(number), ({ state }) => state === 'built');
    await control.call(uuidOf(number), { kind: 'power', signal: 'start' });
    await control.reported(uuidOf(number), ({ power }) => power === 'running');
  }
  const uids = folders.map((folder) => lstatSync(folder).uid);
  assert.notEqual(uids[0], uids[1]);
  for (const [index, folder] of folders.entries()) {
    assert.equal(readFileSync(join(folder, 'seen'), 'utf8'), `${uids[index]}\n`);
    assert.equal(readFileSync(join(folder, 'refused'), 'utf8').trim().split('\n').length, 3);
    assert.equal(lstatSync(join(folder, 'seen')).uid, uids[index]);
  }
  for (const path of [config.stateDir, join(config.stateDir, 'servers'), ...folders])
    assert.equal(lstatSync(path).mode & 0o7777, 0o700, path);
  for (const number of [1, 2])
    await control.call(uuidOf(number), { kind: 'power', signal: 'kill' });
  for (const number of [1, 2])
    await control.reported(uuidOf(number), ({ power }) => power === 'offline');
});

it('stops its servers on a second stop signal during the wait', async (t) => {
  const { config, begin } = configured(t, { onStop: 'end' });
  const control = new TestControl();
  await control.listen(config.linkPath);
  t.after(() => control.close());
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
  const agent = begin();
  agent.stderr?.resume();
  await control.reported(uuidOf(1), ({ state }) => state === 'built');
  assert.deepEqual(await control.call(uuidOf(1), { kind: 'power', signal: 'start' }), {
    kind: 'accepted',
  });
  await control.reported(uuidOf(1), ({ power }) => power === 'running');
  const folder = serverFolder(config.stateDir, uuidOf(1));
  const ended = once(agent, 'exit');
  agent.kill('SIGTERM');
  while (!existsSync(join(folder, 'asked')) && !t.signal.aborted) await delay(10);
  agent.kill('SIGTERM');
  agent.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);
  assert.ok(existsSync(join(folder, 'saved')));
});
