import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import type { Instance, InstanceSpec } from '../engine.ts';
import { engineSuite, GAME } from '../suite.ts';
import { InstanceFolder } from './instance-folder.ts';
import { ProcessEngine } from './process.ts';
import { watchSupervisor } from './supervisor.ts';

/** An account other than root, for tests that run as root. */
const PLAYER = process.getuid?.() === 0 ? 61_234 : (process.getuid?.() ?? 0);
const GROUP = process.getuid?.() === 0 ? 61_234 : (process.getgid?.() ?? 0);

describe('the process engine', () => {
  const state = mkdtempSync(join(tmpdir(), 'pcl-processes-'));
  // As that of a node is: games start in what they may not reach.
  chmodSync(state, 0o700);
  const images = { game: { entrypoint: ['/bin/sh', '-c', GAME] } };
  const open = (): ProcessEngine => new ProcessEngine({ stateDir: state, images });
  const engine = open();
  let lastPort = 23_000;
  const spec = (uuid: string, script: string | null = null): InstanceSpec => {
    const folder = join(state, `folder-${uuid}`);
    mkdirSync(folder, { recursive: true });
    chownSync(folder, PLAYER, GROUP);
    return {
      uuid,
      organisation: 'acme',
      image: { reference: 'game', local: true },
      command: script === null ? null : ['/bin/sh', '-c', script],
      fallbackCommand: null,
      env: {},
      folder,
      mounts: [],
      limits: { ...UNLIMITED, memory: 64, cpu: 100, disk: 1 },
      pidsLimit: 64,
      capabilities: [],
      ports: [],
    };
  };
  after(async () => {
    await engine.close();
    rmSync(state, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const { uuid } of await engine.list()) await engine.remove(uuid);
  });

  engineSuite(() => ({
    engine,
    again: open,
    freePort: () => ({ ip: '127.0.0.1', port: (lastPort += 1) }),
    spec: (uuid) => spec(uuid),
  }));

  /** Runs a script to its end and returns its output. */
  const run = async (script: string, more: Partial<InstanceSpec> = {}): Promise<string> => {
    const uuid = randomUUID();
    const ended = await listenForExit(engine, uuid);
    await engine.create({ ...spec(uuid, script), ...more });
    await engine.start(uuid);
    await ended();
    return (await engine.recentOutput(uuid, 10_000)).toString();
  };

  it('warns that it isolates nothing', async () => {
    assert.match((await engine.describe()).warnings.join(), /nothing isolates/);
  });

  it('runs programs in the folder as its owner and never as root', async (t) => {
    assert.equal(
      await run('id -u; id -G; pwd | sed "s/.*folder.*/there/"'),
      `${PLAYER}\n${GROUP}\nthere\n`,
    );
    if (process.getuid?.() !== 0) return t.diagnostic('not root: no folder of root’s to refuse');
    const mine = spec(randomUUID());
    chownSync(mine.folder, 0, 0);
    await assert.rejects(engine.create(mine), { code: 'refused', message: /root/ });
  });

  it('passes no descriptors, environment or core files to a program', async () => {
    const printed = await run('ls -l /proc/self/fd; env | cut -d= -f1 | sort; ulimit -c', {
      env: { NAME: 'a value; $(touch x)' },
    });
    assert.doesNotMatch(printed, /alive|record|socket/);
    const names = printed.split('\n').filter((line) => /^[A-Z]+$/.test(line));
    assert.deepEqual(names, ['HOME', 'NAME', 'PATH', 'PWD']);
    assert.match(printed, /^0$/m);
  });

  it('kills the children that a process left behind', async () => {
    await gone(Number(await run('sleep 1000 & echo $!')));
  });

  it('sees the end of a supervisor that exited before it was watched', async () => {
    const instance = spec(randomUUID());
    const folder = new InstanceFolder(join(state, 'unwatched'), instance.uuid);
    await folder.make(instance);
    await new Promise<void>((resolve) => watchSupervisor(folder, resolve));
  });

  it('bounds its own files and keeps the last lines for any amount of output', async () => {
    const uuid = randomUUID();
    await engine.create(spec(uuid, 'seq 1 3000000; echo the end; sleep 1000'));
    let bytes = 0;
    let end = '';
    const { promise, resolve } = Promise.withResolvers<void>();
    await engine.attach(uuid, (chunk) => {
      bytes += chunk.length;
      end = (end + chunk.toString()).slice(-20);
      if (end.includes('the end')) resolve();
    });
    await engine.start(uuid);
    await promise;
    assert.ok(bytes > 10_000_000, `${bytes} bytes`);
    const { blocks } = statSync(join(state, 'processes', uuid, 'out'));
    assert.ok(blocks * 512 < 6_000_000, `${blocks} blocks`);
    assert.match((await engine.recentOutput(uuid, 1000)).toString(), /\n3000000\nthe end\n$/);
  });

  it('reports a port in use by another program and a missing address', async () => {
    const server = createServer().listen({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    for (const [ip, code] of [
      ['127.0.0.1', 'port_taken'],
      ['192.0.2.9', 'address_missing'],
    ] as const) {
      const taken = { ...spec(randomUUID()), ports: [{ ip, port, protocol: 'tcp' as const }] };
      await engine.create(taken);
      await assert.rejects(engine.start(taken.uuid), { code, message: new RegExp(ip) });
    }
    server.close();
  });

  it('installs nothing and reports that', async () => {
    await assert.rejects(engine.runInstall(), { code: 'refused', message: /Docker/ });
  });

  it('keeps servers running after a killed agent, with output and exit code', async () => {
    const uuid = randomUUID();
    const mine = spec(uuid);
    const agent = spawn(process.execPath, ['--input-type=module', '-e', AGENT], {
      env: {
        STATE: state,
        SPEC: JSON.stringify(mine),
        MODULE: join(import.meta.dirname, 'process.ts'),
        GAME,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(agent.stdout, 'data');
    agent.kill('SIGKILL');
    await once(agent, 'exit');
    const next = open();
    try {
      assert.equal((await next.inspect(uuid))?.status, 'running');
      let received = '';
      const console = await next.attach(uuid, (chunk) => (received += chunk.toString()));
      const ended = await listenForExit(next, uuid);
      await console.write(Buffer.from('say alone\nexit 9\n'));
      assert.equal((await ended()).exitCode, 9);
      assert.match(received, /said alone\n/);
      assert.match((await next.recentOutput(uuid, 1000)).toString(), /^ready \nsaid alone\n$/);
    } finally {
      await next.close();
    }
  });

  it('knows the end of a server that ended without an agent, also if it was killed', async () => {
    const uuid = randomUUID();
    await engine.create(spec(uuid));
    await engine.start(uuid);
    const record = readFileSync(join(state, 'processes', uuid, 'record'), 'utf8');
    const pid = Number(/^pid (\d+)$/m.exec(record)?.[1]);
    const ended = await listenForExit(engine, uuid);
    process.kill(-pid, 'SIGKILL');
    assert.equal((await ended()).exitCode, 137);
    const next = open();
    assert.equal((await next.inspect(uuid))?.exitCode, 137);
    await next.close();
  });
});

const AGENT = `const { ProcessEngine } = await import(process.env.MODULE);
const engine = new ProcessEngine({
  stateDir: process.env.STATE,
  images: { game: { entrypoint: ['/bin/sh', '-c', process.env.GAME] } },
});
const spec = JSON.parse(process.env.SPEC);
await engine.create(spec);
await engine.attach(spec.uuid, (chunk) => process.stdout.write(chunk));
await engine.start(spec.uuid);`;

/** Resolves when it listens, with a promise of its end. */
async function listenForExit(
  engine: ProcessEngine,
  uuid: string,
): Promise<() => Promise<Instance>> {
  const listening = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Instance>();
  const stop = engine.onEvent((event) => {
    if (event.kind === 'gap') listening.resolve();
    if (event.kind !== 'changed' || event.uuid !== uuid) return;
    void engine.inspect(uuid).then((instance) => {
      if (instance?.status !== 'exited') return;
      stop();
      ended.resolve(instance);
    });
  });
  await listening.promise;
  return () => ended.promise;
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return;
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
