import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import { AgentSession } from './session.ts';

const LOG = { debug() {}, info() {}, warn() {}, error() {} };
const INTERVALS = { heartbeatMs: 60_000, resyncMs: 60_000 };

/** A session whose requests are recorded, and answered when the test says so. */
function recorded() {
  const sent: string[] = [];
  const open: (() => void)[] = [];
  const waiting = (name: string) => (): Promise<void> => {
    sent.push(name);
    return new Promise((resolve) => open.push(resolve));
  };
  let connected = (): void => {};
  const link = { onConnect: (run: () => void) => (connected = run) } as unknown as AgentSide;
  const hello = waiting('hello');
  const session = new AgentSession({
    link,
    log: LOG,
    awayMessage: '',
    hello: async () => hello().then(() => INTERVALS),
    sync: async () => void sent.push('sync'),
    heartbeat: waiting('heartbeat'),
  });
  session.start();
  connected();
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  const answer = async (): Promise<void> => {
    await settle();
    open.shift()?.();
    await settle();
  };
  return { session, sent, answer, settle };
}

test('a hello that a restart overtakes is said again before anything else', async () => {
  const { session, sent, answer, settle } = recorded();
  await settle();
  session.restart();
  await answer();
  assert.equal(session.greeted, false);
  await answer();
  assert.deepEqual(sent, ['hello', 'hello', 'sync']);
  assert.equal(session.greeted, true);
  await session.stop();
});

test('a hello waits for the heartbeat under way, which carries an older mode', async () => {
  const { session, sent, answer, settle } = recorded();
  await answer();
  session.pokeHeartbeat();
  await settle();
  session.restart();
  await settle();
  assert.deepEqual(sent, ['hello', 'sync', 'heartbeat']);
  await answer();
  await answer();
  assert.deepEqual(sent, ['hello', 'sync', 'heartbeat', 'hello', 'sync']);
  await session.stop();
});

test('begins its intervals at a random part of them, so that a fleet does not sync in step', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  t.after(() => mock.timers.reset());
  const random = mock.method(Math, 'random', () => 0.25);
  t.after(() => random.mock.restore());
  const { session, sent, answer, settle } = recorded();
  await answer();
  assert.deepEqual(sent, ['hello', 'sync']);
  const passes = async (ms: number): Promise<number> => {
    mock.timers.tick(ms);
    await settle();
    return sent.filter((what) => what === 'sync').length;
  };
  assert.equal(await passes(14_999), 1);
  assert.equal(await passes(1), 2);
  assert.equal(await passes(59_999), 2);
  assert.equal(await passes(1), 3);
  const stopped = session.stop();
  // The heartbeat under way.
  await answer();
  await stopped;
  assert.equal(await passes(60_000), 3);
});
