import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { CONFIG_VARIABLE, type NodeConfig } from './config.ts';

it('works on a state directory alone: a second agent is refused, the next one is not once the first was killed', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'pcl-alone-'));
  const begun: ChildProcess[] = [];
  t.after(() => {
    for (const agent of begun) agent.kill('SIGKILL');
    rmSync(home, { recursive: true });
  });
  const config: NodeConfig = {
    name: 'node-1',
    linkPath: join(home, 'nobody.sock'),
    credential: 'none',
    stateDir: join(home, 'state'),
    engine: 'process',
    dockerHost: 'unix:///nowhere',
    closedNetworks: [],
    onStop: 'leave',
  };
  const begin = (): ChildProcess => {
    const env = { ...process.env, [CONFIG_VARIABLE]: JSON.stringify(config) };
    const agent = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
      env,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    begun.push(agent);
    return agent;
  };
  const first = begin();
  first.stderr?.resume();
  await once(first, 'message');

  const second = begin();
  const said = text(second.stderr as NodeJS.ReadableStream);
  const [code] = (await once(second, 'exit')) as [number | null];
  assert.equal(code, 1);
  assert.equal(
    await said,
    `portcullis node: another node (process ${first.pid}) works on ${config.stateDir}\n`,
  );

  first.kill('SIGKILL');
  await once(first, 'exit');
  const third = begin();
  third.stderr?.resume();
  await once(third, 'message');
});

it('does not start where networks should be closed to servers that nothing keeps from them', () => {
  const config = {
    name: 'node-1',
    linkPath: '/dev/null/no.sock',
    credential: 'none',
    stateDir: mkdtempSync(join(tmpdir(), 'pcl-closed-')),
    engine: 'process',
    dockerHost: 'unix:///nowhere',
    closedNetworks: ['10.0.0.0/8'],
  };
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    env: { ...process.env, [CONFIG_VARIABLE]: JSON.stringify(config) },
    encoding: 'utf8',
  });
  rmSync(config.stateDir, { recursive: true });
  assert.equal(status, 1);
  assert.match(stderr, /^portcullis node: networks can only be closed to servers in Docker/m);
});
