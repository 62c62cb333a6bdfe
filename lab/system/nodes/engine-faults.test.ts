import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Engine, EngineEvent } from '@portcullis/node/engine/engine.ts';
import { GAME } from '@portcullis/node/engine/suite.ts';
import { startDockerFixture, type DockerFixture } from '../../docker/docker-fixture.ts';
import { skipUnless } from '../../requirements.ts';
import { idOf } from '../../docker/server-shell.ts';
import { eventually } from '../stack-fixture.ts';

describe('the Docker engine, when Docker fails', { skip: skipUnless(['docker', 'nft']) }, () => {
  let fixture: DockerFixture;
  before(async () => {
    fixture = await startDockerFixture('faults');
  });
  after(() => fixture.stop());
  afterEach(async () => {
    for (const { uuid } of await fixture.engine.list()) await fixture.engine.remove(uuid);
  });

  for (const how of ['SIGTERM', 'SIGKILL'] as const)
    it(`finds games running after a restart of Docker with live restore (${how})`, async () => {
      await relaunch(fixture, true);
      const { engine, dockerd } = fixture;
      const events = listen(engine);
      const [stays, ends] = [await play(fixture), await play(fixture)];
      const before = await engine.inspect(stays.uuid);
      const endsId = await idOf(fixture, ends.uuid);
      await dockerd.end(how);
      await events.until('lost');
      await assert.rejects(engine.inspect(stays.uuid), { code: 'unreachable' });
      // Ends while Docker is away; its terminal is of a process that lives on.
      killAll(dockerd.processesOf(endsId));
      await dockerd.launch({ liveRestore: true });
      await events.until('gap', 2);
      assert.deepEqual(await engine.inspect(stays.uuid), before);
      await eventually('the end is known', async () => {
        const instance = await engine.inspect(ends.uuid);
        return instance?.status === 'exited' && instance.exitCode !== null;
      });
      assert.deepEqual(events.of(stays.uuid), ['running'], 'no end of what did not end');
      const console = await stays.attach();
      await console.write(Buffer.from('say hello again\n'));
      await eventually('the console is back', async () =>
        stays.heard().includes('said hello again'),
      );
      await engine.signal(stays.uuid, 'SIGTERM');
      await eventually('it ends', async () => events.of(stays.uuid).includes('exited'));
      events.stop();
    });

  it('knows that a restart of Docker without live restore ended them, and starts them again', async () => {
    await relaunch(fixture, false);
    const { engine, dockerd } = fixture;
    const events = listen(engine);
    const game = await play(fixture);
    await dockerd.end('SIGTERM');
    await dockerd.launch();
    await events.until('gap', 2);
    assert.equal((await engine.inspect(game.uuid))?.status, 'exited');
    await engine.start(game.uuid);
    assert.equal((await engine.inspect(game.uuid))?.status, 'running');
    await dockerd.end('SIGKILL');
    await dockerd.launch();
    await events.until('gap', 3);
    await eventually('they ended with their daemon', async () => {
      return (await engine.inspect(game.uuid))?.status === 'exited';
    });
    events.stop();
  });

  it('answers in its time while Docker hangs, says so, and goes on when it does not', async () => {
    const engine = fixture.open('node-1', 500);
    const events = listen(engine);
    const game = await play(fixture);
    await events.until('gap');
    fixture.dockerd.hang();
    try {
      const calls = [
        engine.inspect(game.uuid),
        engine.list(),
        engine.describe(),
        engine.attach(game.uuid, () => {}),
        engine.recentOutput(game.uuid, 100),
        engine.pull(fixture.spec(game.uuid, '').image, () => {}, new AbortController().signal),
      ];
      for (const call of calls)
        await assert.rejects(call, { name: 'EngineError', code: 'timeout' });
      await events.until('lost');
    } finally {
      fixture.dockerd.resume();
    }
    await events.until('gap', 2);
    // Docker still ends the calls that nobody waits for.
    await eventually('it runs', async () => {
      return (await engine.inspect(game.uuid).catch(() => null))?.status === 'running';
    });
    events.stop();
  });

  it('reports what others do with the docker command', async () => {
    const { engine, dockerd } = fixture;
    const events = listen(engine);
    const game = await play(fixture);
    const id = await idOf(fixture, game.uuid);
    await dockerd.call('POST', `/containers/${id}/pause`);
    await eventually('paused', async () => events.of(game.uuid).includes('paused'));
    assert.equal((await engine.inspect(game.uuid))?.status, 'paused');
    await dockerd.call('POST', `/containers/${id}/unpause`);
    await eventually('unpaused', async () => events.of(game.uuid).at(-1) === 'running');
    await dockerd.call('POST', `/containers/${id}/pause`);
    // A kill ends also what stands still.
    await engine.kill(game.uuid);
    await eventually('it ends', async () => events.of(game.uuid).includes('exited'));
    await engine.start(game.uuid);
    await eventually('it runs again', async () => events.of(game.uuid).at(-1) === 'running');
    await dockerd.call('POST', `/containers/${id}/stop?t=5`);
    await eventually('it stops', async () => {
      return events.of(game.uuid).filter((kind) => kind === 'exited').length === 2;
    });
    await engine.start(game.uuid);
    await dockerd.call('DELETE', `/containers/${id}?force=1`);
    await eventually('it goes', async () => events.of(game.uuid).includes('gone'));
    assert.match(await dockerd.call('GET', '/networks'), /portcullis-/);
    await engine.remove(game.uuid);
    assert.doesNotMatch(await dockerd.call('GET', '/networks'), /portcullis-/);
    events.stop();
  });

  it('makes, starts and removes many at once, and leaves no network of them behind', async () => {
    const { engine, dockerd } = fixture;
    const lives = Array.from({ length: 4 }, async (_, index) => {
      const uuid = randomUUID();
      const ports = [{ ip: '127.0.0.1', port: 7100 + index, protocol: 'tcp' as const }];
      const organisation = `org-${index % 2}`;
      const spec = fixture.spec(uuid, GAME, { organisation, ports });
      const { command, ports: _ports, pidsLimit: _pids, ...install } = spec;
      const never = new AbortController().signal;
      const script = { ...install, entrypoint: 'sh', script: 'true' };
      assert.deepEqual(await engine.runInstall(script, () => {}, never), { exitCode: 0 });
      await engine.create({ ...spec, command });
      await engine.start(uuid);
      assert.equal((await engine.inspect(uuid))?.status, 'running');
      await engine.remove(uuid);
    });
    await Promise.all(lives);
    assert.doesNotMatch(await dockerd.call('GET', '/networks'), /portcullis-/);
    assert.equal(dockerd.namespace.run('nft', 'list', 'tables', 'inet'), '');
  });

  it('names the port that another program has', async () => {
    const uuid = randomUUID();
    const ports = [{ ip: '127.0.0.1', port: 7001, protocol: 'tcp' as const }];
    const { namespace } = fixture.dockerd;
    const other = namespace.spawn(['busybox', 'nc', '-ll', '-p', '7001'], { stdio: 'ignore' });
    try {
      await eventually('it listens', async () => {
        return namespace.run('ss', '-Hltn', 'sport = :7001') !== '';
      });
      await fixture.engine.create(fixture.spec(uuid, GAME, { ports }));
      await assert.rejects(fixture.engine.start(uuid), {
        code: 'port_taken',
        message: /^Port 7001(\/tcp)? of 127.0.0.1 is in use by something else on this node.$/,
      });
    } finally {
      other.kill('SIGKILL');
    }
    // It starts once the port is free: nothing of the failed start is in the way.
    await eventually('it starts', async () => {
      await fixture.engine.start(uuid).catch(() => undefined);
      return (await fixture.engine.inspect(uuid))?.status === 'running';
    });
  });

  it('names the address that this node does not have', async () => {
    const uuid = randomUUID();
    const ports = [{ ip: '192.0.2.77', port: 7000, protocol: 'udp' as const }];
    await fixture.engine.create(fixture.spec(uuid, GAME, { ports }));
    await assert.rejects(fixture.engine.start(uuid), {
      code: 'address_missing',
      message: 'This node does not have the address 192.0.2.77.',
    });
  });
});

function killAll(pids: readonly number[]): void {
  for (const pid of pids)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended with the first of them.
    }
}

async function relaunch({ dockerd }: DockerFixture, liveRestore: boolean): Promise<void> {
  await dockerd.end('SIGTERM');
  await dockerd.launch({ liveRestore });
}

interface Listening {
  /** The states of one server after each of its events, in order, each once. */
  of(uuid: string): string[];
  /** Resolves when this was reported that many times. */
  until(kind: EngineEvent['kind'], times?: number): Promise<void>;
  stop(): void;
}

function listen(engine: Engine): Listening {
  const kinds: EngineEvent['kind'][] = [];
  const states = new Map<string, string[]>();
  const inspect = async (uuid: string): Promise<void> => {
    const state = (await engine.inspect(uuid))?.status ?? 'gone';
    const before = states.get(uuid) ?? [];
    if (before.at(-1) !== state) states.set(uuid, [...before, state]);
  };
  const stop = engine.onEvent((event) => {
    kinds.push(event.kind);
    // The engine may be away again.
    if (event.kind === 'changed') inspect(event.uuid).catch(() => undefined);
  });
  return {
    stop,
    of: (uuid) => states.get(uuid) ?? [],
    until: (kind, times = 1) =>
      eventually(`${kind} is reported`, async () => {
        return kinds.filter((one) => one === kind).length >= times;
      }),
  };
}

interface Play {
  readonly uuid: string;
  attach(): ReturnType<Engine['attach']>;
  heard(): string;
}

async function play(fixture: DockerFixture): Promise<Play> {
  const uuid = randomUUID();
  let heard = '';
  const attach = (): ReturnType<Engine['attach']> =>
    fixture.engine.attach(uuid, (chunk) => (heard += chunk.toString()));
  await fixture.engine.create(fixture.spec(uuid, GAME));
  await attach();
  await fixture.engine.start(uuid);
  await eventually('it is ready', async () => heard.includes('ready'));
  return { uuid, attach, heard: () => heard };
}
