import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { LOOK_AGAIN_MS } from '@portcullis/core/game-servers/machine-steps.ts';
import { type PowerSignal, UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import type { Egg, EggVariable } from '@portcullis/core/game-servers/egg.ts';
import type { StartProgram } from '../engine/fake.ts';
import { EGG } from '../testing/eggs.ts';
import { TestHost, until } from '../testing/host.ts';

const ACCEPTED = { kind: 'accepted' };
const VARIABLE: EggVariable = {
  name: 'Map',
  description: '',
  env: 'MAP',
  defaultValue: '',
  rules: [],
  viewable: true,
  editable: true,
};

/** Ends only by a kill. */
const stubborn: StartProgram = ({ output }) => {
  output('ready\n');
  return {};
};

async function running(host: TestHost): Promise<string> {
  const uuid = await host.server();
  await host.power(uuid, 'start');
  await host.becomes(uuid, 'running');
  return uuid;
}

describe('power on a node', () => {
  it('answers each of 50 concurrent signals and reaches the state of the last one', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server();
    const signals: readonly PowerSignal[] = ['start', 'restart', 'stop', 'kill', 'restart'];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => host.power(uuid, signals[index % 5] ?? 'kill')),
    );
    for (const answer of answers)
      assert.ok(answer?.kind === 'accepted' || answer?.kind === 'refused');
    assert.deepEqual(answers.at(-1), ACCEPTED);
    await host.becomes(uuid, 'running');
    assert.deepEqual(await host.power(uuid, 'kill'), ACCEPTED);
    await host.becomes(uuid, 'offline');
  });

  it('finds the attributes of XML files in the egg, not in the values of variables', async (t) => {
    const given: unknown[] = [];
    const host = new TestHost(t, {
      applyConfigFiles: async ({ files }) => {
        given.push(...files.flatMap(({ replacements }) => replacements));
        return [];
      },
    });
    const values = ["[value='{{server.build.env.NAME}}']", '{{server.build.env.NAME}}'];
    const replacements = values.map((value) => ({ match: 'a.b', ifValue: null, value }));
    const configFiles = [{ path: 'a.xml', parser: 'xml', replacements } as const];
    const [uuid = ''] = await host.servers(1, { ...EGG, configFiles });
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
    assert.deepEqual(given, [
      { match: 'a.b/@value', ifValue: null, value: '{{server.build.env.NAME}}' },
      { match: 'a.b', ifValue: null, value: '{{server.build.env.NAME}}' },
    ]);
  });

  it('kills a server during its image pull and leaves nothing of the start', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server();
    host.engine.images.clear();
    const pulling = Promise.withResolvers<void>();
    host.engine.before = (operation) => {
      if (operation !== 'pull') return undefined;
      pulling.resolve();
      return new Promise(() => {});
    };
    await host.power(uuid, 'start');
    await pulling.promise;
    assert.equal(await host.state(uuid), 'starting');
    assert.deepEqual(await host.power(uuid, 'kill'), ACCEPTED);
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('create', uuid), 0);
  });

  it('kills a server while its instance is created or started, and it does not run afterwards', async (t) => {
    for (const step of ['create', 'start'] as const) {
      const host = new TestHost(t);
      const uuid = await host.server();
      const reached = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      host.engine.before = (operation) => {
        if (operation !== step) return undefined;
        reached.resolve();
        return goOn.promise;
      };
      await host.power(uuid, 'start');
      await reached.promise;
      assert.deepEqual(await host.power(uuid, 'kill'), ACCEPTED);
      goOn.resolve();
      await host.becomes(uuid, 'offline');
      assert.notEqual((await host.engine.inspect(uuid))?.status, 'running', step);
    }
  });

  it('restarts: stops as the egg specifies, then starts', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    const { length } = host.engine.calls;
    await host.power(uuid, 'restart');
    await host.becomes(uuid, 'running');
    const since = host.engine.calls.slice(length).map(({ operation }) => operation);
    assert.equal(since.filter((one) => one === 'start').length, 1);
    assert.ok(since.indexOf('write') < since.indexOf('create'));
    assert.ok(!since.includes('signal') && !since.includes('kill'));
    assert.ok(since.lastIndexOf('attach') < since.lastIndexOf('start'));
  });

  it('escalates from the stop of the egg to TERM to KILL at the times of the egg', async (t) => {
    const host = new TestHost(t);
    host.engine.program = stubborn;
    const stopTimes = { termAfterMs: 150, killAfterMs: 100 };
    const uuid = await host.server({ ...EGG, stopTimes });
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
    const begin = performance.now();
    await host.power(uuid, 'stop');
    await host.becomes(uuid, 'offline');
    assert.ok(performance.now() - begin >= 250);
    assert.deepEqual([host.count('signal', uuid), host.count('kill', uuid)], [1, 1]);
  });

  it('stops within the time that the server is set to', async (t) => {
    const host = new TestHost(t);
    host.engine.program = ({ output, exit }) => {
      output('ready\n');
      return { signal: (signal) => (signal === 'SIGTERM' ? exit(0) : undefined) };
    };
    const uuid = await host.server(EGG, { stopAfterMs: 0 });
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
    await host.power(uuid, 'stop');
    // The egg gives it a minute.
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('signal', uuid), 1);
  });

  it('says what it was launched with until it is launched again, also after a restart of the agent', async (t) => {
    const host = new TestHost(t);
    const egg: Egg = { ...EGG, variables: [VARIABLE] };
    const launched = async (uuid: string) => {
      const answer = await host.control.call(uuid, { kind: 'look' });
      return answer?.kind === 'state' ? answer.launched : undefined;
    };
    const uuid = await host.server(egg, { variables: { MAP: 'lake' } });
    assert.equal(await launched(uuid), null);
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
    const first = await launched(uuid);
    assert.deepEqual(Object.keys(first ?? {}).toSorted(), [
      '/egg',
      '/image',
      '/limits',
      '/ports',
      '/variables/MAP',
    ]);
    await host.servers(1, egg, { variables: { MAP: 'hill' } });
    await host.knows(({ variables }) => variables['MAP'] === 'hill');
    await host.restart();
    await host.becomes(uuid, 'running');
    assert.deepEqual(await launched(uuid), first);
    await host.power(uuid, 'restart');
    await host.started(uuid, 1);
    const second = await launched(uuid);
    assert.notEqual(second?.['/variables/MAP'], first?.['/variables/MAP']);
    assert.equal(second?.['/image'], first?.['/image']);
  });

  it('follows the crash policy of the server', async (t) => {
    const never = new TestHost(t);
    const first = await never.server(EGG, {
      crashes: { restart: false, withinMs: 60_000, tries: 1 },
    });
    await never.power(first, 'start');
    await never.becomes(first, 'running');
    never.engine.crash(first);
    await never.becomes(first, 'offline');
    assert.equal(never.count('start', first), 1);
  });

  it('follows direct changes in the engine', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    host.engine.pause(uuid);
    host.engine.unpause(uuid);
    assert.equal(await host.state(uuid), 'running');
    host.engine.vanish(uuid);
    await host.started(uuid, 2);
    assert.match((await host.lines(uuid)).join('\n'), /removed\. It was started again/);
    await host.power(uuid, 'stop');
    await host.becomes(uuid, 'offline');
    await host.engine.start(uuid);
    await host.becomes(uuid, 'running');
    assert.deepEqual(await host.control.call(uuid, { kind: 'command', command: 'x' }), ACCEPTED);
    assert.ok((await host.lines(uuid)).includes('x'));
  });

  it('reports why a start failed, and allows another one', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server();
    const problem = async (): Promise<string | null> => {
      const answer = await host.control.call(uuid, { kind: 'look' });
      return answer?.kind === 'state' ? answer.problem : null;
    };
    host.engine.images.clear();
    host.engine.registry.clear();
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'offline');
    assert.match((await host.lines(uuid)).join('\n'), /could not be started: The image game:1/);
    assert.match((await problem()) ?? '', /could not be started: The image game:1/);
    host.engine.registry.add('game:1');
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
    assert.equal(await problem(), null);
  });

  it('reports no state and accepts only a kill while the engine hangs, and then continues', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    const hung = Promise.withResolvers<void>();
    host.engine.before = () => hung.promise;
    const calls = [
      { kind: 'look' },
      { kind: 'power', signal: 'stop' },
      { kind: 'power', signal: 'start' },
      { kind: 'command', command: 'say hello' },
    ] as const;
    const requested = calls.map((call) => host.control.call(uuid, call, 5_000));
    for (const answer of await Promise.all(requested))
      assert.deepEqual(answer, {
        kind: 'refused',
        reason: 'The engine of this node does not answer.',
      });
    const lines = await host.control.call(uuid, { kind: 'lines', last: 10, colours: false }, 2_000);
    assert.equal(lines?.kind, 'lines');
    const kill = { kind: 'power', signal: 'kill' } as const;
    assert.deepEqual(await host.control.call(uuid, kill, 10_000), ACCEPTED);
    hung.resolve();
    await host.becomes(uuid, 'offline');
  });

  it('reports measured resources only, never an unmeasured zero, also paused and after a restart', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server();
    const seen: unknown[] = [];
    const measured = async (): Promise<boolean> => {
      const answer = await host.control.call(uuid, { kind: 'look' });
      if (answer?.kind !== 'state') return false;
      const { state, resources } = answer;
      if (state === 'offline' || state === 'starting') return false;
      seen.push(resources?.memoryBytes ?? null);
      return resources !== null;
    };
    const used = host.engine.usage.memoryBytes;
    await host.power(uuid, 'start');
    await until(measured);
    host.engine.pause(uuid);
    await host.becomes(uuid, 'paused');
    await measured();
    // The console is reconnected.
    host.engine.lose();
    host.engine.find();
    await until(measured);
    await host.restart();
    host.engine.usage = { ...host.engine.usage, memoryBytes: used };
    await until(measured);
    assert.deepEqual(new Set(seen), new Set([null, used]));
    assert.ok(seen.filter((memory) => memory === used).length >= 4);
  });

  it('reconnects a closed console and does not treat it as the end of the server', async (t) => {
    const { setTimeout: start } = globalThis;
    t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) =>
      start(run, ms === LOOK_AGAIN_MS ? 50 : ms),
    );
    const host = new TestHost(t);
    const uuid = await running(host);
    host.engine.detach(uuid);
    const command = { kind: 'command', command: 'say hello' } as const;
    const refused = await host.control.call(uuid, command);
    assert.equal(refused?.kind, 'refused');
    assert.equal(await host.state(uuid), 'running');
    await until(async () => (await host.control.call(uuid, command))?.kind === 'accepted');
    assert.ok((await host.lines(uuid)).includes('say hello'));
    assert.equal(host.count('start', uuid), 1);
  });

  it('accepts commands only while it runs', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server();
    const answer = await host.control.call(uuid, { kind: 'command', command: 'say hello' });
    assert.match(answer?.kind === 'refused' ? answer.reason : '', /offline/);
    const unknown = '00000000-0000-4000-8000-00000000ffff';
    const none = await host.control.call(unknown, { kind: 'look' });
    assert.equal(none?.kind, 'refused');
  });

  it("takes the egg's stop command for a stop, not for a crash", async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    const answer = await host.control.call(uuid, { kind: 'command', command: 'stop' });
    assert.deepEqual(answer, ACCEPTED);
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('start', uuid), 1);
  });

  it('stops a server above its disk limit, and allows a start below it', async (t) => {
    const host = new TestHost(t, { measurePauseMs: 20 });
    const limits = { ...UNLIMITED, memory: 512, cpu: 100, disk: 1 };
    const uuid = await host.server(EGG, { limits });
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
    const file = join(host.stateDir, 'servers', uuid, 'world');
    writeFileSync(file, Buffer.alloc(2 * 1024 * 1024, 'x'));
    await host.becomes(uuid, 'offline');
    assert.match((await host.lines(uuid)).join('\n'), /has \d MiB on the disk and may have 1 MiB/);
    assert.equal(host.count('kill', uuid), 0);
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('start', uuid), 1);
    rmSync(file);
    await host.power(uuid, 'start');
    await host.becomes(uuid, 'running');
  });

  it('stops a server that is suspended, and does not start it', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    await host.servers(1, EGG, { suspended: true });
    await host.becomes(uuid, 'offline');
    assert.deepEqual(await host.power(uuid, 'start'), {
      kind: 'refused',
      reason: 'The server is suspended.',
    });
    await host.servers(1, EGG);
    // The node accepts a start once it has received the new assignment.
    await until(async () => (await host.power(uuid, 'start'))?.kind === 'accepted');
    await host.becomes(uuid, 'running');
  });
});
