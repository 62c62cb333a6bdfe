import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Corroboration } from '@portcullis/control/attacks/detection/watch/corroboration.ts';

const VICTIM = '203.0.113.9';
const PPS = 20_000;
/** More than are remembered of one agent. */
const FLOOD = 17_000;

/** Site `fra` has edges and site `ams` none; packets are for a bucket of a quarter of a second. */
function watching() {
  let nowMs = 0;
  const corroboration = new Corroboration({
    thresholdsOf: () => ({ pps: PPS, bps: 1e12 }),
    serves: () => true,
  });
  const report = (
    kind: 'edge' | 'collector',
    name: string,
    site: string,
    rates: ReadonlyMap<string, number> | Readonly<Record<string, number>>,
  ): void => {
    const all = rates instanceof Map ? [...rates] : Object.entries(rates);
    const addresses = all.map(([subject, pps]) => ({
      subject,
      prefix: null,
      packets: pps / 4,
      bytes: 0,
      dataPackets: 0,
      dataBytes: 0,
      receiptPackets: 0,
      packetVariance: 0,
      byteVariance: 0,
      vectors: [],
    }));
    const sample = { addresses, prefixes: [], durationMs: 250 };
    corroboration.note({ kind, name }, site, [sample], nowMs);
  };
  return {
    edge: (name: string, rates: Parameters<typeof report>[3]) => report('edge', name, 'fra', rates),
    collector: (name: string, site: string, rates: Parameters<typeof report>[3]) =>
      report('collector', name, site, rates),
    pass: (ms: number) => void (nowMs += ms),
    isClaimed: () => corroboration.isClaimed(VICTIM, nowMs),
    isCounted: () => corroboration.isCounted(VICTIM, nowMs),
  };
}

function flood(round: number): Map<string, number> {
  return new Map(
    Array.from({ length: FLOOD }, (_, index) => [
      `2001:db8:${round.toString(16)}::${index.toString(16)}`,
      1,
    ]),
  );
}

test('a collector that names more subjects than are remembered makes no claim of its own forgotten', () => {
  const { edge, collector, isClaimed, pass } = watching();
  edge('fra1', {});
  for (let round = 1; round <= 3; round += 1) {
    collector('evil', 'fra', new Map([[VICTIM, 90_000], ...flood(round)]));
    assert.equal(isClaimed(), true);
    pass(250);
    edge('fra1', {});
  }
  // What an edge counts is no claim, whatever was forgotten.
  edge('fra1', { [VICTIM]: 90_000 });
  assert.equal(isClaimed(), false);
});

test('an edge that names more subjects than are remembered makes nothing forgotten that another edge counts', () => {
  const { edge, collector, isClaimed, isCounted } = watching();
  collector('flows', 'fra', { [VICTIM]: 90_000 });
  edge('fra1', { [VICTIM]: 90_000 });
  edge('evil', flood(1));
  assert.equal(isCounted(), true);
  assert.equal(isClaimed(), false);
});

test('a collector of one site turns no attack into a claim that exports see where no edge could', () => {
  const { edge, collector, isClaimed } = watching();
  edge('fra1', {});
  collector('ams', 'ams', { [VICTIM]: 90_000 });
  assert.equal(isClaimed(), false);
  collector('evil', 'fra', { [VICTIM]: 4 });
  assert.equal(isClaimed(), false);
});

test('what a collector of one site claims is a claim beside the usual traffic of a site without edges', () => {
  const { edge, collector, isClaimed } = watching();
  edge('fra1', {});
  collector('evil', 'fra', { [VICTIM]: 90_000 });
  collector('ams', 'ams', { [VICTIM]: 400 });
  assert.equal(isClaimed(), true);
});

test('a claim whose packets become fewer stays a claim', () => {
  const { edge, collector, isClaimed, pass } = watching();
  collector('evil', 'fra', { [VICTIM]: 90_000 });
  pass(2_900);
  collector('evil', 'fra', { [VICTIM]: 80_000 });
  pass(200);
  edge('fra1', {});
  assert.equal(isClaimed(), true);
});
