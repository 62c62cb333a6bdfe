import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ongoing, SubjectState } from '@portcullis/core/attacks/detector/subject.ts';
import { type EdgeAttacks, MAX_ATTACKS_PER_MESSAGE } from '@portcullis/link/messages/attacks.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import type { OverlayEntry } from './overlay/overlay.ts';
import { OutageAttacks } from './outage-attacks.ts';

const A = '203.0.113.10';
const START_MS = 1_790_000_000_000;
const SILENT = { silentSinceMs: START_MS - 500 };
const ENTRY: OverlayEntry = {
  subject: A,
  actions: [{ kind: 'fragments' }],
  mode: 'enforce',
  safelist: [],
  expiresMs: 0,
};

/** The ongoing attacks of a detector on these subjects. */
function ongoing(
  pps: number,
  startedAtMs = START_MS,
  quietMs = 0,
  subjects: readonly string[] = [A],
) {
  const rate = { value: pps, low: pps, high: pps };
  return new Map(
    subjects.map((subject) => {
      const attack = {
        id: `${subject}@${startedAtMs}`,
        subject,
        type: 'udp_flood',
        shares: [],
        peakPps: rate,
        peakBps: rate,
        startedAtMs,
        endedAtMs: null,
      };
      return [
        subject,
        { phase: { attack, quietMs } } as unknown as SubjectState & { phase: Ongoing },
      ];
    }),
  );
}

async function meet(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-outage-'));
  const received: EdgeAttacks[] = [];
  const reply: ControlReply = { kind: 'done' };
  const link = createMemoryLink(async (_, request) => {
    assert.ok(request.kind === 'edge.attacks');
    received.push(request);
    return reply;
  });
  const agent = link.connect({ kind: 'edge', name: 'fra1' });
  const connected = Promise.withResolvers<void>();
  agent.onConnect(() => connected.resolve());
  await connected.promise;
  t.after(async () => {
    await agent.close();
    await link.control.close();
    // It may still write.
    await Promise.all(opened.map((one) => one.stop()));
    rmSync(folder, { recursive: true });
  });
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    warn: (_: object, line: string) => void warnings.push(line),
    error() {},
  };
  const nowMs = () => START_MS + 60_000;
  const opened: OutageAttacks[] = [];
  const open = () => {
    const one = { folder, log, link: agent, instance: 'one', nowMs, tops: () => null };
    opened.push(new OutageAttacks(one));
    return opened.at(-1) as OutageAttacks;
  };
  const until = async (hope: () => boolean): Promise<void> => {
    for (let tries = 0; !hope(); tries++) {
      assert.ok(tries < 2_000, `timed out: ${hope}`);
      await delay(2);
    }
  };
  return { folder, open, received, warnings, until };
}

test('an attack ends with its last traffic, with its highest peak, and is reported until control has it', async (t) => {
  const { open, received, until } = await meet(t);
  const outage = open();
  outage.note(ongoing(50_000), [], { ...SILENT, atMs: START_MS + 750 });
  outage.note(ongoing(90_000), [ENTRY], { ...SILENT, atMs: START_MS + 1_000 });
  outage.mitigated(new Set([A]), START_MS + 1_100);
  outage.note(ongoing(10_000, START_MS, 2_000), [], { ...SILENT, atMs: START_MS + 8_000 });
  outage.report();
  await until(() => received.length === 1);
  const [attack, ...others] = received[0]?.attacks ?? [];
  assert.deepEqual(others, []);
  assert.deepEqual(
    [attack?.startedAtMs, attack?.openedAtMs, attack?.mitigatedAtMs, attack?.endedAtMs],
    [START_MS, START_MS + 750, START_MS + 1_100, START_MS + 6_000],
  );
  assert.equal(attack?.peakPps.value, 90_000);
  assert.deepEqual(attack?.actions, [
    {
      action: { kind: 'fragments' },
      mode: 'enforce',
      sinceMs: START_MS + 1_000,
      untilMs: START_MS + 8_000,
    },
  ]);
  await outage.stop();
  const next = open();
  next.report();
  await delay(20);
  assert.equal(received.length, 1, 'control has it');
});

test('an attack that control saw start is not reported unless the edge mitigates it', async (t) => {
  const { open, received, until } = await meet(t);
  const outage = open();
  const old = ongoing(50_000, START_MS - 60_000);
  outage.note(old, [], { ...SILENT, atMs: START_MS });
  outage.report();
  await delay(20);
  assert.equal(received.length, 0);
  outage.note(old, [ENTRY], { ...SILENT, atMs: START_MS + 250 });
  outage.report();
  await until(() => received.length === 1);
  const [attack] = received[0]?.attacks ?? [];
  assert.deepEqual([attack?.startedAtMs, attack?.actions.length], [SILENT.silentSinceMs, 1]);
});

test('an attack survives a restart of the agent as the same attack, and a damaged file costs no start', async (t) => {
  const { folder, open, received, warnings, until } = await meet(t);
  const first = open();
  first.note(ongoing(50_000), [], { ...SILENT, atMs: START_MS + 750 });
  await first.settled();
  const second = open();
  second.note(ongoing(40_000, START_MS + 9_000), [], { ...SILENT, atMs: START_MS + 10_000 });
  second.report();
  await until(() => received.length === 1);
  assert.deepEqual(
    received[0]?.attacks.map(({ id, endedAtMs, peakPps }) => [id, endedAtMs, peakPps.value]),
    [[`${A}@${START_MS}`, START_MS + 10_000, 50_000]],
  );
  await second.stop();
  writeFileSync(join(folder, 'outage-attacks.json'), '{"format":1');
  open();
  assert.deepEqual(warnings, ['saved attacks cannot be read']);
});

test('many attacks are split over several messages, and those beyond the capacity are counted', async (t) => {
  const { open, received, until } = await meet(t);
  const outage = open();
  const subjects = Array.from({ length: 520 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
  outage.note(ongoing(50_000, START_MS, 0, subjects), [], { ...SILENT, atMs: START_MS + 750 });
  assert.match(outage.problems()[0] ?? '', /^8 autonomously/);
  await until(() => {
    outage.report();
    return received.length === 512 / MAX_ATTACKS_PER_MESSAGE;
  });
  assert.equal(new Set(received.flatMap(({ attacks }) => attacks.map(({ id }) => id))).size, 512);
});
