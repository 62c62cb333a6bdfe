import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AttackJournal, type Journalled } from '../floods/attack-journal.ts';
import { everyCampaign, knownWithinMs, plansOf, type Target } from '../floods/campaign.ts';
import { sendFloods } from '../floods/flood.ts';
import { sendCampaign, type Sent } from '../floods/resend.ts';
import { type FloodReport, peakTogether } from '../floods/schedule.ts';
import { edgesCount, SecondEdge, wireToFirst } from '../floods/second-edge.ts';
import { Witness } from '../floods/witness.ts';
import { REAL_EXPORTERS, startExporter } from '../flows/exporters.ts';
import { createInternet, EDGE_DEVICE, type Internet } from '../stack/internet.ts';
import { skipUnless } from '../requirements.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { eventually } from '../system/stack-fixture.ts';

const SECONDS = 6;
/** Floods of each kind begin so long after those of the kind before: six at a time. */
const APART_SECONDS = 3;
const HOLD_SECONDS = 3;
const MITIGATED_MS = 1000;
const DATED_MS = 500;
const PEAK_ERROR = 0.05;
/** Seen by an edge and by an exporter; seen by two edges, by each below the threshold. */
const TWICE = { address: '203.0.113.128', pps: 4000 } as const;
const SHARED = { address: '203.0.113.129', pps: 700 } as const;
const EXPORTS = 6343;
const HEARTBEAT_MS = 40_000;

const everyTarget = everyCampaign();
const started = performance.now();

describe('floods from the wire to the history of attacks', {
  skip: skipUnless(['root', 'netns', 'nft', 'bpf', 'ethtool', 'postgres', 'flow-exporters']),
}, () => {
  let internet: Internet;
  let stack: Stack;
  let journal: AttackJournal;
  let records: readonly Journalled[] = [];
  const witness = new Witness();
  let sent: readonly Sent[] = [];
  let again: readonly string[] = [];
  const undo: (() => Promise<void> | void)[] = [() => witness.stop()];

  before(async () => {
    // So are the processes of the stack, which this one starts: what keeps it waiting keeps them waiting.
    setPriority(-10);
    internet = createInternet('attacks');
    undo.push(() => internet.destroy());
    for (const [where, device] of [
      [internet.client, 'eth0'] as const,
      [internet.edge, EDGE_DEVICE] as const,
    ]) {
      where.run('ethtool', '-K', device, 'gro', 'on');
    }
    // Whoever is attacked here is behind the edge, and nobody: what passes goes nowhere.
    for (const net of ['203.0.113.128/25', '2001:db8:5::100/120', '2001:db8:5::200/120']) {
      internet.edge.run('ip', 'route', 'add', 'blackhole', net);
    }
    stack = await startStack(internet, { fleet: fleet('') });
    undo.push(() => stack.stop());
    await counting(stack, 1);
    journal = await AttackJournal.open(stack);
    undo.push(() => journal.close());
    const wire = wireToFirst(internet);
    ({ sent, again } = await sendCampaign({
      witness,
      holdMs: HOLD_SECONDS * 1000,
      thenMs: MITIGATED_MS,
      send: async (targets) => {
        const plans = plansOf(targets, wire, SECONDS, APART_SECONDS);
        const reports = await sendFloods(internet.client, plans);
        await pause((HOLD_SECONDS + 1) * 1000);
        return reports;
      },
    }));
    records = await journal.read();
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });

  /** The one record of each, held against what was sent. */
  function each(check: (one: Journalled, report: FloodReport, target: Target) => string | null) {
    const wrong = sent.flatMap(({ target, report }) => {
      if (target.type === null) return [];
      const [one, ...more] = records.filter(({ subject }) => subject === target.address);
      const why =
        one === undefined
          ? 'not recorded'
          : more.length > 0
            ? `${more.length + 1} records`
            : check(one, report, target);
      return why === null ? [] : [`${target.name}: ${why}`];
    });
    assert.deepEqual(wrong, []);
  }

  it('each is one record, named rightly, and downloads and players rushing in are none', (t) => {
    if (again.length > 0) t.diagnostic(`the machine was busy; sent again: ${again.join(', ')}`);
    each(({ type }, _, target) => (type === target.type ? null : type));
    const attacked = everyTarget.filter(({ type }) => type !== null);
    const known = new Set(attacked.map(({ address }) => address));
    assert.deepEqual(
      records.filter(({ subject }) => !known.has(subject)),
      [],
    );
  });

  it('each is reported by operation 11 as it was recorded', async () => {
    const { status, body } = await stack.api.call<{ readonly data: readonly AttackRead[] }>(
      'GET',
      '/api/v1/attacks?per_page=100',
    );
    assert.equal(status, 200);
    const second = (ms: number | null) => (ms === null ? null : Math.floor(ms / 1000));
    assert.deepEqual(
      body.data
        .map((one) => ({
          subject: one.destination_ip,
          type: one.attack_type,
          peakPps: one.peak_pps,
          endedS: one.ended_at === null ? null : Date.parse(one.ended_at) / 1000,
        }))
        .toSorted((a, b) => a.subject.localeCompare(b.subject)),
      records
        .slice(-100)
        .map(({ subject, type, peakPps, endedAtMs }) => ({
          subject,
          type,
          peakPps,
          endedS: second(endedAtMs),
        }))
        .toSorted((a, b) => a.subject.localeCompare(b.subject)),
    );
  });

  it('each is recorded within 3 s at 1.2 times its threshold, and within 1.5 s at twice it', (t) => {
    const worst = new Map<number, number>();
    each(({ openedCommittedMs }, { beganAtMs }, { factor }) => {
      const tookMs = Math.round(openedCommittedMs - beganAtMs);
      worst.set(factor, Math.max(worst.get(factor) ?? 0, tookMs));
      return tookMs <= knownWithinMs(factor) ? null : `after ${tookMs} ms`;
    });
    t.diagnostic(`at most ${JSON.stringify([...worst])}`);
  });

  it('each is mitigated, as the kernel confirms, within a second of being recorded', (t) => {
    let worst = 0;
    each(({ openedCommittedMs, mitigatedCommittedMs }) => {
      if (mitigatedCommittedMs === null) return 'never';
      const tookMs = mitigatedCommittedMs - openedCommittedMs;
      worst = Math.max(worst, tookMs);
      return tookMs <= MITIGATED_MS ? null : `after ${tookMs} ms`;
    });
    t.diagnostic(`at most ${worst} ms`);
  });

  it('each has peaks within 5 % of what was sent', (t) => {
    let worst = 0;
    each(({ peakPps, peakBps }, report) => {
      const pps = Math.abs(peakPps / report.peakPps - 1);
      const off = Math.max(pps, Math.abs(peakBps / report.peakBps - 1));
      worst = Math.max(worst, off);
      return off <= PEAK_ERROR ? null : `off by ${(off * 100).toFixed(1)} %`;
    });
    t.diagnostic(`${(worst * 100).toFixed(1)} % at most`);
  });

  it('each is closed within its hold time, and dated as it was sent', (t) => {
    let worst = 0;
    each(({ startedAtMs, endedAtMs, endedCommittedMs }, report) => {
      if (endedCommittedMs === null || endedAtMs === null) return 'goes on';
      const closedMs = Math.round(endedCommittedMs - report.endedAtMs);
      worst = Math.max(worst, closedMs);
      const beginMs = Math.round(startedAtMs - report.beganAtMs);
      const endMs = Math.round(endedAtMs - report.endedAtMs);
      const isDated = Math.abs(beginMs) <= DATED_MS && Math.abs(endMs) <= DATED_MS;
      return closedMs <= HOLD_SECONDS * 1000 && isDated
        ? null
        : `closed ${closedMs} ms after its last packet, dated ${beginMs} and ${endMs} ms off`;
    });
    t.diagnostic(`closed ${worst} ms after the last packet at most`);
  });

  it('what an edge counts and a router exports counts once in a site, and what two sites see is one', async (t) => {
    await stack.applyFleet(fleet(BOTH));
    const second = new SecondEdge('attacks2', internet, stack);
    undo.push(() => second.destroy());
    await second.start();
    await counting(stack, 2);
    undo.push(await exporting(internet));
    await eventually('the collector hears', async () => {
      const { data: collectors } = JSON.parse(
        await stack.command('collectors', 'list', '--json'),
      ) as {
        readonly data: readonly { readonly report: { listening: string | null } | null }[];
      };
      return collectors[0]?.report?.listening !== null && collectors[0]?.report !== null;
    });
    const first = wireToFirst(internet);
    const flood = { kind: 'udp', seconds: 6 } as const;
    const shared = { ...flood, target: SHARED.address, pps: SHARED.pps };
    const floods = await sendFloods(internet.client, [
      { ...first, ...flood, name: 'twice', target: TWICE.address, pps: TWICE.pps },
      { ...first, ...shared, name: 'here' },
      { ...second.wire, ...shared, name: 'there' },
    ]);
    await pause((HOLD_SECONDS + 2) * 1000);
    const peak = (...names: readonly string[]): number =>
      peakTogether(names.flatMap((name) => floods.get(name) ?? []));
    const found = await journal.read();
    for (const [address, pps] of [
      [TWICE.address, peak('twice')],
      [SHARED.address, peak('here', 'there')],
    ] as const) {
      const known = found.filter(({ subject }) => subject === address);
      assert.equal(known.length, 1, address);
      const reported = known[0]?.peakPps ?? Number.NaN;
      t.diagnostic(`${address}: ${((reported / pps - 1) * 100).toFixed(1)} % off`);
      assert.ok(
        Math.abs(reported / pps - 1) <= PEAK_ERROR,
        `${address}: ${reported} where ${pps} were sent`,
      );
    }
  });

  it('all of this takes less than 230 s, where nothing had to be sent again', () => {
    assert.ok(again.length > 0 || performance.now() - started < 230_000);
  });
});

/** The answer of operation 11, what is looked at. */
interface AttackRead {
  readonly destination_ip: string;
  readonly attack_type: string;
  readonly peak_pps: number;
  readonly ended_at: string | null;
}

/** Reported with the next heartbeat. */
async function counting(stack: Stack, edges: number): Promise<void> {
  await eventually('every edge counts in the kernel', () => edgesCount(stack, edges), HEARTBEAT_MS);
}

/** A real exporter of what comes in at the first edge; answers how it is ended. */
async function exporting({ edge }: Internet): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'pcl-exporter-'));
  const exporter = REAL_EXPORTERS.find(({ name }) => name === 'pmacctd, sFlow');
  assert.ok(exporter !== undefined);
  const child = await startExporter(exporter, edge, EDGE_DEVICE, EXPORTS, folder);
  return async () => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** A second edge elsewhere, and a router in front of the first one. */
const BOTH = `  - { name: second, devices: [${EDGE_DEVICE}], site: elsewhere }
collectors:
  - { name: flows, listen: "127.0.0.1:${EXPORTS}", exporters: [{ ip: 127.0.0.1, prefixes: all }] }
`;

/** The addresses of each threshold are a service of their own. */
function fleet(more: string): string {
  const since = 'since: "2026-01-01T00:00:00+00:00"';
  const services = [...Map.groupBy(everyTarget, ({ threshold }) => threshold)].map(
    ([pps, members], index) => `      - id: ${501 + index}
        name: at-${pps}
        managed_filters: []
        thresholds: { pps: ${pps} }
        addresses:
${members.map(({ address }) => `          - { ip: "${address}", ${since} }`).join('\n')}`,
  );
  return `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    thresholds: { pps: 10000000, mbps: 1000000, hold_seconds: ${HOLD_SECONDS} }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, ${since} }
      - { cidr: "2001:db8:5::/48", asn: 64500, ${since} }
    services:
${services.join('\n')}
      - id: 601
        name: seen-twice
        managed_filters: []
        mitigation: off
        thresholds: { pps: 1000 }
        addresses:
          - { ip: ${TWICE.address}, ${since} }
          - { ip: ${SHARED.address}, ${since} }
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
${more}`;
}
