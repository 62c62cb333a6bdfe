import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';
import { BEGIN_MS, sampleOf } from '@portcullis/core/attacks/testing/samples.ts';
import { isWireAttack } from '@portcullis/link/messages/attacks.ts';
import type { SavedAttack } from './journal.ts';
import { AttackLedger } from './ledger.ts';

const A = '203.0.113.10';
const HOLD_MS = 10_000;
const OPTIONS = { tops: () => null, holdMsOf: () => HOLD_MS };
const exactly = (value: number) => ({ value, low: value, high: value });

function attackOf(startedAtMs: number, change: Partial<Attack> = {}): Attack {
  return {
    id: `${A}@${startedAtMs}`,
    subject: A,
    type: 'udp_flood',
    shares: [],
    peakPps: exactly(1_000),
    peakBps: exactly(8_000),
    startedAtMs,
    endedAtMs: null,
    ...change,
  };
}
/** A ledger, and buckets in which A receives this number of packets per second. */
function ledgerOf(kept: readonly SavedAttack[] = []) {
  const ledger = new AttackLedger(OPTIONS, kept);
  let index = 0;
  let setMs = 0;
  const nowMs = (): number => BEGIN_MS + (index + 1) * BUCKET_MS + setMs;
  const pass = (alone: boolean, pps: number, kind?: AttackEvent['kind'], attack?: Attack) => {
    const sample = { ...sampleOf(index, { [A]: pps }), atMs: nowMs() };
    const events = kind && attack ? [{ kind, attack, atMs: nowMs(), quietMs: 0 }] : [];
    const ended = ledger.note(sample, events, alone ? sample.atMs : null);
    index++;
    return ended;
  };
  /** A bucket that reports that control missed the one that ended at `missedAtMs`. */
  const passMissing = (missedAtMs: number, pps: number): void => {
    ledger.note({ ...sampleOf(index, { [A]: pps }), atMs: nowMs() }, [], missedAtMs);
    index++;
  };
  const setClock = (byMs: number): void => {
    setMs += byMs;
    ledger.shift(byMs);
  };
  return { ledger, pass, passMissing, nowMs, setClock };
}
const STARTED_MS = BEGIN_MS - 750;

test('an attack that control saw completely is not reported', () => {
  const { ledger, pass } = ledgerOf();
  pass(false, 5_000, 'opened', attackOf(STARTED_MS));
  assert.deepEqual([...ledger.ongoing().keys()], [A]);
  assert.deepEqual(pass(false, 0, 'ended', attackOf(STARTED_MS)), new Set([A]));
  assert.deepEqual([ledger.unreported(), ledger.unsaved(true)], [[], []]);
});

test('an attack during an outage is reported while ongoing and again when it ended', () => {
  const { ledger, pass, nowMs } = ledgerOf();
  pass(false, 5_000, 'opened', attackOf(STARTED_MS));
  pass(true, 5_000);
  const first = ledger.unreported();
  assert.deepEqual(
    first.map(({ id, endedAtMs }) => [id, endedAtMs]),
    [[`${A}@${STARTED_MS}`, null]],
  );
  assert.ok(first.every(isWireAttack));
  assert.deepEqual(ledger.acknowledged(first), []);
  assert.deepEqual(ledger.unreported(), []);
  const endedAtMs = nowMs() - HOLD_MS;
  pass(false, 0, 'ended', attackOf(STARTED_MS - HOLD_MS, { endedAtMs }));
  const last = ledger.unreported();
  assert.equal(last.length, 1);
  assert.deepEqual(ledger.acknowledged(last), [`${A}@${STARTED_MS}`]);
  assert.deepEqual([ledger.unreported(), ledger.unsaved(true)], [[], []]);
});

test('an attack with one missed bucket is reported, also if that was before its detection', () => {
  const early = ledgerOf();
  early.passMissing(BEGIN_MS, 5_000);
  early.pass(false, 5_000, 'opened', attackOf(STARTED_MS));
  assert.equal(early.ledger.unreported().length, 1);

  const late = ledgerOf();
  late.pass(false, 5_000, 'opened', attackOf(STARTED_MS));
  late.pass(false, 5_000);
  assert.deepEqual(late.ledger.unreported(), []);
  // As late as the timeout of a message.
  late.passMissing(BEGIN_MS + BUCKET_MS, 0);
  assert.equal(late.ledger.unreported().length, 1);
  late.pass(false, 0, 'ended', attackOf(STARTED_MS, { endedAtMs: BEGIN_MS + BUCKET_MS }));
  assert.equal(late.ledger.unreported()[0]?.endedAtMs, BEGIN_MS + BUCKET_MS);
});

test('a bucket missed before the start of an attack does not matter', () => {
  const { ledger, pass, passMissing } = ledgerOf();
  passMissing(STARTED_MS, 5_000);
  pass(false, 5_000, 'opened', attackOf(STARTED_MS));
  pass(false, 0, 'ended', attackOf(STARTED_MS));
  assert.deepEqual([ledger.unreported(), ledger.unsaved(true)], [[], []]);
});

test('an acknowledgement of an older state does not settle a newer one', () => {
  const { ledger, pass } = ledgerOf();
  pass(true, 5_000, 'opened', attackOf(STARTED_MS));
  const asOngoing = ledger.unreported();
  pass(true, 0, 'ended', attackOf(STARTED_MS));
  assert.deepEqual(ledger.acknowledged(asOngoing), []);
  assert.equal(ledger.unreported()[0]?.endedAtMs !== null, true);
});

test('the series has a point per second from the start, also before the detection', () => {
  const { ledger, pass } = ledgerOf();
  for (const pps of [100, 4_000, 4_000, 4_000]) pass(true, pps);
  // Detected with the fifth bucket, and dated from the second.
  pass(true, 4_000, 'opened', attackOf(BEGIN_MS + BUCKET_MS));
  for (let n = 0; n < 4; n++) pass(true, 2_000);
  const { series } = ledger.unreported()[0] ?? {};
  assert.equal(series?.startMs, BEGIN_MS + BUCKET_MS);
  assert.deepEqual(series?.pps, [4_000, 2_000]);
  assert.deepEqual(series?.bps, [4_000 * 800, 2_000 * 800]);
});

test('after a kill an ongoing attack continues, and one that is over ended when last seen', () => {
  const before = ledgerOf();
  before.pass(true, 5_000, 'opened', attackOf(STARTED_MS));
  for (let n = 0; n < 8; n++) before.pass(true, 5_000);
  const kept = before.ledger.unsaved(true);
  assert.equal(kept.length, 1);

  const again = ledgerOf(kept);
  const reopened = attackOf(BEGIN_MS + 60_000, { peakPps: exactly(9_000), type: 'multi_vector' });
  again.pass(true, 9_000, 'opened', reopened);
  const [same] = again.ledger.unreported();
  assert.equal(same?.id, `${A}@${STARTED_MS}`);
  assert.equal(same?.startedAtMs, STARTED_MS);
  assert.deepEqual([same?.type, same?.peakPps.value], ['multi_vector', 9_000]);

  const gone = ledgerOf(kept);
  for (let n = 0; n < 300_000 / BUCKET_MS; n++) gone.pass(true, 0);
  assert.equal(gone.ledger.unreported()[0]?.endedAtMs, kept[0]?.seenAtMs);
});

test('a clock change moves all times and neither opens nor ends an attack', () => {
  for (const byMs of [-86_400_000, 86_400_000]) {
    const { ledger, pass, setClock } = ledgerOf();
    pass(true, 5_000, 'opened', attackOf(STARTED_MS));
    for (let n = 0; n < 8; n++) pass(true, 5_000);
    const [before] = ledger.unreported();
    setClock(byMs);
    pass(true, 5_000);
    const [after] = ledger.unreported();
    assert.equal(after?.id, before?.id);
    assert.equal(after?.endedAtMs, null);
    assert.equal(after?.startedAtMs, (before?.startedAtMs ?? 0) + byMs);
    assert.equal(after?.series.startMs, (before?.series.startMs ?? 0) + byMs);
    // The detector uses the current clock for each bucket, and the start is from before the change.
    const endedAtMs = Math.max(STARTED_MS, BEGIN_MS + byMs);
    pass(true, 0, 'ended', attackOf(STARTED_MS, { endedAtMs }));
    const [ended] = ledger.unreported();
    const lastedMs = (ended?.endedAtMs ?? 0) - (ended?.startedAtMs ?? 0);
    assert.ok(lastedMs >= 0 && lastedMs < 60_000, `${lastedMs} ms`);
  }
});

test('the record has the autonomous mitigations with their times', () => {
  const { ledger, pass, nowMs } = ledgerOf();
  const dns: MitigationAction = { kind: 'reflector', reflector: 'dns' };
  pass(true, 5_000, 'opened', attackOf(STARTED_MS));
  const entry = {
    subject: A,
    actions: [dns],
    mode: 'enforce',
    safelist: [],
    expiresMs: 1,
  } as const;
  const sinceMs = nowMs();
  ledger.mitigating([entry], sinceMs);
  ledger.mitigating([{ ...entry, expiresMs: 2 }], sinceMs + 5);
  ledger.mitigated(new Set([A, '203.0.113.11']), sinceMs + 10);
  ledger.mitigated(new Set([A]), sinceMs + 99);
  ledger.mitigating([], sinceMs + 200);
  const [reported] = ledger.unreported();
  assert.equal(reported?.mitigatedAtMs, sinceMs + 10);
  assert.deepEqual(reported?.actions, [
    { action: dns, mode: 'enforce', sinceMs, untilMs: sinceMs + 200 },
  ]);
});

test('the disk is written on changes, not with every bucket', () => {
  const { ledger, pass } = ledgerOf();
  pass(true, 5_000, 'opened', attackOf(STARTED_MS));
  assert.equal(ledger.unsaved(false).length, 1);
  for (let n = 1; n < 10; n++) {
    pass(true, 5_000, 'changed', attackOf(STARTED_MS, { peakPps: exactly(1_000 * n) }));
    assert.deepEqual(ledger.unsaved(false), []);
  }
  pass(true, 5_000, 'changed', attackOf(STARTED_MS, { type: 'multi_vector' }));
  assert.equal(ledger.unsaved(false).length, 1);
});

test('attacks during a long outage are bounded and losses are counted', () => {
  const { ledger, pass } = ledgerOf();
  for (let n = 0; n < 600; n++) {
    const attack = attackOf(STARTED_MS + n);
    pass(true, 5_000, 'opened', attack);
    pass(true, 0, 'ended', attack);
  }
  assert.equal(ledger.unreported().length, 512);
  assert.equal(ledger.lost, 88);
  assert.equal(ledger.unreported().at(-1)?.id, `${A}@${STARTED_MS + 599}`);
});
