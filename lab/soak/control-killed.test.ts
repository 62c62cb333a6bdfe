import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AttackJournal, type Journalled } from '../floods/attack-journal.ts';
import { sendFloods } from '../floods/flood.ts';
import { type FloodReport, peakTogether } from '../floods/schedule.ts';
import { edgesCount, SecondEdge, wireToFirst } from '../floods/second-edge.ts';
import { createInternet, EDGE_DEVICE, type Internet } from '../stack/internet.ts';
import { skipUnless } from '../requirements.ts';
import { ORGANISATION, type Stack, startStack } from '../stack/stack.ts';
import { eventually } from '../system/stack-fixture.ts';

const THRESHOLD_PPS = 2000;
const HOLD_SECONDS = 10;
const FLOOD_SECONDS = 40;
/** One that both edges see, on each below the threshold; one that the first sees alone. */
const SHARED = { target: '203.0.113.129', factor: 0.8 } as const;
const SINGLE = { target: '203.0.113.130', factor: 3 } as const;
const CONTROL_KILLED_MS = 8_000;
const EDGE_KILLED_MS = 22_000;
const EDGE_BACK_MS = 25_000;
const PEAK_ERROR = 0.05;
const DATED_MS = 500;
const PATIENCE_MS = 60_000;

const FLEET = `organisations:
  ${ORGANISATION}:
    name: Acme
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00", thresholds: { pps: 10000000 } }
    thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, hold_seconds: ${HOLD_SECONDS} }
    services:
      - id: 501
        name: attacked
        managed_filters: []
        thresholds: { pps: ${THRESHOLD_PPS} }
        addresses:
          - { ip: ${SHARED.target}, since: "2026-01-01T00:00:00+00:00" }
          - { ip: ${SINGLE.target}, since: "2026-01-01T00:00:00+00:00" }
    keys:
      - { name: lab, abilities: [firewall.read, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}] }
  - { name: second, devices: [${EDGE_DEVICE}], site: elsewhere }
`;

describe('processes killed with -9 while floods go on', {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool', 'postgres']),
}, () => {
  const undo: (() => Promise<void> | void)[] = [];
  let internet: Internet;
  let stack: Stack;
  let records: readonly Journalled[] = [];
  let reports: ReadonlyMap<string, FloodReport> = new Map();

  before(async () => {
    // So are the processes of the stack, which this one starts: others keep them waiting less.
    setPriority(-10);
    internet = createInternet('kills');
    undo.push(() => internet.destroy());
    internet.edge.run('ip', 'route', 'add', 'blackhole', '203.0.113.128/25');
    stack = await startStack(internet, { fleet: FLEET });
    undo.push(() => stack.stop());
    const second = new SecondEdge('kills2', internet, stack);
    undo.push(() => second.destroy());
    await second.start();
    await eventually('both edges count', () => edgesCount(stack, 2), PATIENCE_MS);
    const journal = await AttackJournal.open(stack);
    undo.push(() => journal.close());
    const flooding = flood(internet, second);
    await pause(CONTROL_KILLED_MS);
    const before = stack.pidOf('control/main.ts');
    process.kill(before, 'SIGKILL');
    await pause(EDGE_KILLED_MS - CONTROL_KILLED_MS);
    assert.notEqual(stack.pidOf('control/main.ts'), before, 'control was started again');
    await second.kill();
    await pause(EDGE_BACK_MS - EDGE_KILLED_MS);
    await second.start();
    reports = await flooding;
    await eventually(
      'both are over',
      async () => {
        records = await journal.read();
        return records.length > 0 && records.every(({ endedAtMs }) => endedAtMs !== null);
      },
      PATIENCE_MS,
    );
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  it('leave each flood one record, which went on', () => {
    assert.deepEqual(
      records.map(({ subject, type }) => `${type} on ${subject}`).toSorted(),
      [SHARED, SINGLE].map(({ target }) => `udp_flood on ${target}`),
    );
  });

  for (const [what, { target }, names] of [
    ['two edges of two sites saw, control and one of them killed', SHARED, ['here', 'there']],
    ['one edge saw, control killed', SINGLE, ['single']],
  ] as const) {
    it(`keep begin, end and peak of one that ${what}`, (t) => {
      const one = records.find(({ subject }) => subject === target);
      const sent = names.flatMap((name) => reports.get(name) ?? []);
      assert.ok(one !== undefined && sent.length === names.length);
      const beganAtMs = Math.min(...sent.map((report) => report.beganAtMs));
      const overAtMs = Math.max(...sent.map((report) => report.endedAtMs));
      const sentPps = peakTogether(sent);
      const beginMs = Math.round(one.startedAtMs - beganAtMs);
      const endMs = Math.round((one.endedAtMs ?? Number.NaN) - overAtMs);
      const peak = one.peakPps / sentPps - 1;
      t.diagnostic(`begins ${beginMs} ms off, ends ${endMs} ms off, peak ${peak.toFixed(3)} off`);
      assert.ok(Math.abs(beginMs) <= DATED_MS && Math.abs(endMs) <= DATED_MS);
      assert.ok(Math.abs(peak) <= PEAK_ERROR * names.length);
      assert.notEqual(one.mitigatedCommittedMs, null, 'it was mitigated');
    });
  }
});

function flood(internet: Internet, { wire }: SecondEdge) {
  const first = wireToFirst(internet);
  const common = { kind: 'udp', seconds: FLOOD_SECONDS } as const;
  const shared = { ...common, target: SHARED.target, pps: THRESHOLD_PPS * SHARED.factor };
  return sendFloods(internet.client, [
    { ...first, ...shared, name: 'here' },
    { ...wire, ...shared, name: 'there' },
    {
      ...first,
      ...common,
      name: 'single',
      target: SINGLE.target,
      pps: THRESHOLD_PPS * SINGLE.factor,
    },
  ]);
}
