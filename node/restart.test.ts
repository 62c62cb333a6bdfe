import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { StartWithHost } from '@portcullis/core/game-servers/power.ts';
import type { NodeHeartbeat } from '@portcullis/link/messages/node.ts';
import { stopAll } from './server/stop-all.ts';
import { EngineError } from './engine/engine.ts';
import { FakeEngine, type StartProgram } from './engine/fake.ts';
import { Journal } from './journal/journal.ts';
import { assignmentOf, EGG, uuidOf } from './testing/eggs.ts';
import { TestHost, until } from './testing/host.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const ACCEPTED = { kind: 'accepted' };
const LOOK = { kind: 'look' } as const;

async function running(host: TestHost): Promise<string> {
  const uuid = await host.server();
  await host.power(uuid, 'start');
  await host.becomes(uuid, 'running');
  return uuid;
}

describe('an agent that was killed', () => {
  it('finds its servers running, and stops them as their egg specifies', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    host.engine.say(uuid, 'before\n');
    await host.restart();
    await host.becomes(uuid, 'running');
    assert.equal(host.count('create', uuid) + host.count('start', uuid), 0);
    await until(async () => (await host.lines(uuid)).includes('before'));
    await host.power(uuid, 'stop');
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('write', uuid), 1);
    assert.equal(host.count('signal', uuid) + host.count('kill', uuid), 0);
  });

  it('restarts servers that crashed meanwhile, and leaves stopped ones offline', async (t) => {
    const host = new TestHost(t);
    const [first, second] = (await host.servers(2)) as [string, string];
    for (const uuid of [first, second]) await host.power(uuid, 'start');
    for (const uuid of [first, second]) await host.becomes(uuid, 'running');
    await host.power(second, 'stop');
    await host.becomes(second, 'offline');
    await host.agent?.stop();
    host.engine.crash(first);
    await host.restart();
    await host.becomes(first, 'running');
    await host.becomes(second, 'offline');
    assert.equal(host.count('start', first), 1);
    assert.equal(host.count('start', second), 0);
  });

  it('starts servers with its host as they are set to, whatever the crash policy says', async (t) => {
    const boot = { bootId: 'first' };
    const host = new TestHost(t, boot);
    const crashes = { restart: false, withinMs: 60_000, tries: 1 };
    const [first, second] = (await host.servers(2, EGG, { crashes })) as [string, string];
    await host.power(first, 'start');
    await host.becomes(first, 'running');
    const reboot = async (startWithHost: StartWithHost, bootId: string) => {
      await host.servers(2, EGG, { crashes, startWithHost });
      await host.knows((one) => one.startWithHost === startWithHost);
      await host.agent?.stop();
      for (const { uuid, status } of await host.engine.list()) {
        if (status === 'running') host.engine.crash(uuid);
      }
      boot.bootId = bootId;
      await host.restart();
    };
    await reboot('as_before', 'second');
    await host.becomes(first, 'running');
    await host.becomes(second, 'offline');
    await reboot('always', 'third');
    for (const uuid of [first, second]) await host.becomes(uuid, 'running');
    await reboot('never', 'fourth');
    for (const uuid of [first, second]) await host.becomes(uuid, 'offline');
    assert.match((await host.lines(first)).join(), /host was restarted/);
  });

  it('continues a pending stop and the restart after it, without sending the stop twice', async (t) => {
    const host = new TestHost(t);
    let printed = 0;
    const slow: StartProgram = ({ output }) => {
      output('ready\n');
      return { input: (line) => void (printed += line === 'stop' ? 1 : 0) };
    };
    host.engine.program = slow;
    const uuid = await running(host);
    await host.power(uuid, 'restart');
    await host.becomes(uuid, 'stopping');
    await until(async () => printed > 0);
    await host.control.reported(uuid, ({ power }) => power === 'stopping');
    await host.restart();
    await host.becomes(uuid, 'stopping');
    host.engine.crash(uuid, 0);
    await host.becomes(uuid, 'running');
    assert.equal(printed, 1);
    assert.equal(host.count('signal', uuid) + host.count('kill', uuid), 0);
  });

  it('runs the servers from its disk while control is away', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    await host.agent?.stop();
    host.engine.crash(uuid);
    await host.control.close();
    await host.restart();
    await until(async () => (await host.engine.inspect(uuid))?.status === 'running');
    assert.equal(host.count('start', uuid), 1);
  });

  it('keeps servers running when a journal file is damaged', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    await host.agent?.stop();
    writeFileSync(join(host.stateDir, 'journal', 'servers', `${uuid}.json`), '{"machine":');
    writeFileSync(join(host.stateDir, 'journal', 'assignments.json'), '\0\0\0\0');
    await host.restart();
    await host.becomes(uuid, 'running');
    await host.power(uuid, 'stop');
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('start', uuid), 0);
  });

  it('stops and removes servers that control removed meanwhile, and unknown ones', async (t) => {
    const host = new TestHost(t);
    const [first, second] = (await host.servers(2)) as [string, string];
    for (const uuid of [first, second]) await host.power(uuid, 'start');
    for (const uuid of [first, second]) await host.becomes(uuid, 'running');
    await host.agent?.stop();
    const spec = host.engine.specOf(first);
    assert.ok(spec !== null);
    const stranger = uuidOf(999);
    await host.engine.create({ ...spec, uuid: stranger, ports: [] });
    await host.engine.start(stranger);
    await host.servers(1);
    await host.restart();
    for (const uuid of [second, stranger]) {
      await until(async () => (await host.engine.inspect(uuid)) === null);
    }
    assert.equal(host.count('kill', second) + host.count('signal', second), 0);
    await host.becomes(first, 'running');
  });
});

describe('a node that stops its servers at its own end', () => {
  it('starts them again after each quick restart without counting crashes, and keeps offline ones offline', async (t) => {
    const host = new TestHost(t);
    const [first, second] = (await host.servers(2)) as [string, string];
    await host.power(first, 'start');
    await host.becomes(first, 'running');
    for (let times = 0; times < 3; times += 1) {
      await endTogether(host);
      host.begin();
      await host.becomes(first, 'running');
    }
    assert.equal(await host.state(second), 'offline');
    // No crash was counted: the first crash restarts it.
    host.engine.crash(first);
    await until(async () => (await host.lines(first)).some((line) => /started again/.test(line)));
    await host.becomes(first, 'running');
  });

  it('keeps a server offline that was being stopped', async (t) => {
    const host = new TestHost(t);
    host.engine.program = ({ output }) => {
      output('ready\n');
      return { input: () => {} };
    };
    const uuid = await running(host);
    await host.power(uuid, 'stop');
    await host.becomes(uuid, 'stopping');
    await endTogether(host);
    host.begin();
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('start', uuid), 0);
  });

  async function endTogether(host: TestHost): Promise<void> {
    await host.agent?.stop();
    host.engine = new FakeEngine(host.engine);
    await stopAll(host.engine, new Journal(host.stateDir, log), 1_000);
    for (const { status } of await host.engine.list()) assert.notEqual(status, 'running');
    host.engine = new FakeEngine(host.engine);
  }
});

describe('an engine that does not answer', () => {
  it('gets every call answered in time, with unknown state, and stops nothing', async (t) => {
    const host = new TestHost(t);
    const uuid = await running(host);
    host.engine.lose();
    await host.becomes(uuid, null);
    for (const signal of ['start', 'stop', 'restart'] as const) {
      assert.equal(
        (await host.control.call(uuid, { kind: 'power', signal }, 5_000))?.kind,
        'refused',
      );
    }
    assert.equal((await host.control.call(uuid, LOOK, 5_000))?.kind, 'refused');
    host.engine.find();
    await host.becomes(uuid, 'running');
    assert.equal(host.count('start', uuid), 1);
    assert.deepEqual(await host.control.call(uuid, { kind: 'command', command: 'x' }), ACCEPTED);
  });

  it('completes waiting builds when it is back', async (t) => {
    const host = new TestHost(t);
    host.engine.before = () => {
      throw new EngineError('unreachable', 'Docker does not answer.');
    };
    const building = host.server({ ...EGG, name: 'Waits' });
    const waiting = await host.control.reported(uuidOf(1), ({ reason }) => reason !== null);
    assert.equal(waiting.state, 'waiting');
    assert.match(waiting.reason ?? '', /engine of this node does not answer/);
    host.engine.before = () => {};
    host.engine.find();
    assert.equal((await host.built(await building)).state, 'built');
  });

  it('is not reported before its first answer', async (t) => {
    const host = new TestHost(t);
    const described = Promise.withResolvers<void>();
    host.engine.before = (operation) => (operation === 'describe' ? described.promise : undefined);
    const digest = 'a'.repeat(64);
    host.control.assign([assignmentOf(1, digest)], { [digest]: EGG });
    host.begin();
    // It joined and received its server.
    await until(async () => (await host.state(uuidOf(1))) === 'offline');
    assert.ok(host.control.report === null);
    described.resolve();
    await host.built(uuidOf(1));
    const { engine } = (host.control.report as NodeHeartbeat | null) ?? {};
    assert.partialDeepStrictEqual(engine, { kind: 'fake', version: 'fake', problem: null });
  });
});
