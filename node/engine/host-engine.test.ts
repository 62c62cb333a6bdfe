import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import { EngineError, type EngineEvent, type InstanceSpec } from './engine.ts';
import { FakeEngine } from './fake.ts';
import { HostEngine, type LocalEngine } from './host-engine.ts';

const PROGRAM = 'portcullis/hearth';
const GAME = 'game:1';
const SPEC = {
  organisation: 'acme',
  command: null,
  fallbackCommand: null,
  env: {},
  folder: '/nowhere',
  mounts: [],
  limits: { ...UNLIMITED, memory: 64, cpu: 100, disk: 1 },
  pidsLimit: 64,
  capabilities: [],
  ports: [],
};

function specOf(uuid: string, reference: string): InstanceSpec {
  return { ...SPEC, uuid, image: { reference, local: reference === PROGRAM } };
}

/** A fake that knows without asking what it has. */
class LocalFake extends FakeEngine implements LocalEngine {
  readonly here = new Set<string>();
  has(uuid: string): boolean {
    return this.here.has(uuid);
  }
  override async create(spec: InstanceSpec): Promise<void> {
    await super.create(spec);
    this.here.add(spec.uuid);
  }
  override async remove(uuid: string): Promise<void> {
    await super.remove(uuid);
    this.here.delete(uuid);
  }
}

function open() {
  const docker = new FakeEngine();
  docker.images.add(GAME);
  const process = new LocalFake();
  process.images.add(PROGRAM);
  return { docker, process, host: new HostEngine(docker, process, [PROGRAM]) };
}

function unreachable(): never {
  const cause = Object.assign(new Error('connect ENOENT'), { code: 'ECONNREFUSED' });
  throw new EngineError('unreachable', 'Docker does not answer.', { cause });
}

test('each server runs on the engine of its image, and stays there until it is created on the other', async () => {
  const { docker, process, host } = open();
  const [hearth, game] = [randomUUID(), randomUUID()];
  host.expect(hearth, PROGRAM);
  host.expect(game, GAME);
  assert.deepEqual([host.of(hearth), host.of(game)], [process, docker]);
  await host.create(specOf(hearth, PROGRAM));
  await host.create(specOf(game, GAME));
  for (const uuid of [hearth, game]) await host.start(uuid);
  assert.deepEqual(
    (await host.list()).map(({ uuid }) => uuid).toSorted(),
    [hearth, game].toSorted(),
  );
  assert.equal((await docker.inspect(game))?.status, 'running');
  assert.equal((await process.inspect(hearth))?.status, 'running');
  // Another egg is assigned: what runs is still found where it runs.
  host.expect(game, PROGRAM);
  assert.equal((await host.inspect(game))?.status, 'running');
  await host.kill(game);
  await host.create(specOf(game, PROGRAM));
  assert.equal(await docker.inspect(game), null, 'the container is gone');
  assert.equal(host.of(game), process);
});

test('what runs as a process goes on while Docker is away, which is said of its own servers alone', async () => {
  const { docker, process, host } = open();
  const [hearth, game] = [randomUUID(), randomUUID()];
  host.expect(hearth, PROGRAM);
  host.expect(game, GAME);
  await host.create(specOf(hearth, PROGRAM));
  docker.before = unreachable;
  const events: EngineEvent[] = [];
  const stop = host.onEvent((event) => events.push(event));
  await host.start(hearth);
  assert.equal((await host.inspect(hearth))?.status, 'running');
  assert.deepEqual(
    (await host.list()).map(({ uuid }) => uuid),
    [hearth],
  );
  await assert.rejects(host.create(specOf(game, GAME)), { code: 'unreachable' });
  assert.partialDeepStrictEqual(await host.describe(), {
    docker: { version: null, lack: 'stopped' },
    programs: [],
  });
  docker.lose('it was stopped');
  const lost = await eventOf(events, 'lost');
  assert.equal('from' in lost && lost.from, docker);
  assert.notEqual(host.of(hearth), docker);
  assert.equal(host.of(hearth), process);
  stop();
});

async function eventOf(events: readonly EngineEvent[], kind: string): Promise<EngineEvent> {
  for (;;) {
    const found = events.find((event) => event.kind === kind);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
