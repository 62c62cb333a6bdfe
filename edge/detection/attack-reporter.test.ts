import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import {
  type EdgeAttacks,
  MAX_ATTACKS_PER_MESSAGE,
  type WireAttack,
} from '@portcullis/link/messages/attacks.ts';
import { wireAttack } from './testing/attacks.ts';
import { AttackReporter } from './attack-reporter.ts';

const DONE: ControlReply = { kind: 'done' };
const refused = (code: 'unavailable' | 'unsupported'): ControlReply => ({
  kind: 'refused',
  code,
  detail: 'not now',
});
const A = wireAttack('203.0.113.10');
const B = wireAttack('203.0.113.11');

async function meet(t: TestContext) {
  const received: EdgeAttacks[] = [];
  const reported: string[] = [];
  const control = { reply: DONE };
  const link = createMemoryLink(async (_, request) => {
    assert.ok(request.kind === 'edge.attacks');
    received.push(request);
    return control.reply;
  });
  const agent = link.connect({ kind: 'edge', name: 'fra1' });
  const connected = Promise.withResolvers<void>();
  agent.onConnect(() => connected.resolve());
  await connected.promise;
  const reporter = new AttackReporter({
    link: agent,
    instance: 'one',
    nowMs: () => 7,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    acknowledged: (attacks) => void reported.push(...attacks.map(({ id }) => id)),
    firstRetryMs: 20,
  });
  t.after(async () => {
    await agent.close();
    await reporter.stop();
    await link.control.close();
  });
  /** Offers these until control has received this number of messages. */
  const offer = async (attacks: readonly WireAttack[], messages: number): Promise<void> => {
    for (let tries = 0; received.length < messages; tries++) {
      assert.ok(tries < 10_000, `${received.length} messages`);
      reporter.report(attacks);
      await delay(2);
    }
    while (!reporter.ready && control.reply === DONE) await delay(1);
  };
  return { reporter, control, received, reported, offer };
}

test('an unacknowledged message is repeated unchanged', async (t) => {
  const { control, received, reported, offer } = await meet(t);
  control.reply = refused('unavailable');
  await offer([A], 2);
  assert.deepEqual(reported, []);
  control.reply = DONE;
  await offer([{ ...A, endedAtMs: A.startedAtMs }, B], 3);
  assert.deepEqual(received[2], received[0]);
  assert.deepEqual(reported, [A.id]);
  await offer([B], 4);
  assert.deepEqual([received[0]?.sequence, received[3]?.sequence], [1, 2]);
  assert.deepEqual(received[3]?.attacks, [B]);
});

test('control of an older version gets no attacks before the next hello', async (t) => {
  const { reporter, control, received, offer } = await meet(t);
  control.reply = refused('unsupported');
  await offer([A], 1);
  await delay(60);
  reporter.report([A]);
  await delay(20);
  assert.equal(received.length, 1);
  control.reply = DONE;
  reporter.greeted();
  await offer([A], 2);
});

test('many attacks are split over several messages', async (t) => {
  const { received, reported, offer } = await meet(t);
  const all = Array.from({ length: 100 }, (_, n) => wireAttack(`10.0.0.${n}`));
  await offer(all, 1);
  await offer(all.slice(reported.length), 2);
  assert.deepEqual(
    received.map(({ attacks }) => attacks.length),
    [MAX_ATTACKS_PER_MESSAGE, 100 - MAX_ATTACKS_PER_MESSAGE],
  );
  assert.equal(reported.length, 100);
});

test('a malformed attack is dropped and blocks no other', async (t) => {
  const { received, reported, offer } = await meet(t);
  const rubbish = wireAttack('203.0.113.12', { startedAtMs: Number.NaN });
  await offer([rubbish, A], 1);
  assert.deepEqual(received[0]?.attacks, [A]);
  assert.deepEqual(reported, [rubbish.id, A.id]);
});
