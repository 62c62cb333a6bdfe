import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { sendFloods } from '../../floods/flood.ts';
import type { FloodPlan } from '../../floods/schedule.ts';
import { REAL_EXPORTERS, startExporter } from '../../flows/exporters.ts';
import { Network, type Namespace } from '../../stack/netns.ts';
import { missing } from '../../requirements.ts';
import { FastNetMon } from './fastnetmon.ts';
import { FIRST } from './first.ts';
import { OurEdge } from './our-edge.ts';
import { OurCollector } from './ours.ts';
import { Reports } from './reports.ts';
import { rowsOf, sayTrials } from './rows.ts';
import { sightingsOf } from './theirs.ts';
import { FACTORS, judge, type Sighting, type Trial, trialsOf } from './trial.ts';
import type { Bench, Row } from '../report.ts';
import { dropAtIngress, linkOf } from '../generator/traffic.ts';
import { within } from '../within.ts';

const THRESHOLD = { pps: 2000, mbps: 1000 } as const;
const NETWORKS = ['203.0.113.0/24', '2001:db8:5::/64'] as const;
/**
 * Longer than FastNetMon's ban time and its rounds of 5 s: it looks whether an attack is over when those have passed.
 */
const FLOOD_SECONDS = 20;
const HOLD_SECONDS = 5;
const BAN_SECONDS = 10;
/** The time in which usual traffic is learnt, and rates of both have settled. */
const CALM_MS = 5000;
/** The longest that an end is waited for. */
const END_MS = 25_000;
const EXPORT_PORT = 9000;
const OUR_PORT = 9001;
const THEIR_PORT = 9002;
const REPORTS_PORT = 9003;
const ROOT = join(import.meta.dirname, '..', '..', '..');
const DEVICE = 'v1';

const INPUTS = [
  { name: 'packets', exporter: null, kind: 'packets' },
  { name: 'sFlow 1:10', exporter: 'pmacctd, sFlow', kind: 'sflow' },
  { name: 'NetFlow 9', exporter: 'pmacctd, NetFlow 9', kind: 'netflow' },
] as const;
type Input = (typeof INPUTS)[number];

/** Floods, seen by ours and by FastNetMon at once, by the same packets or the same exports of them. */
export const detectionBench: Bench = {
  name: 'detection',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'ethtool', 'flow-exporters']),
  run: async (say) => {
    const absent = missing(['fastnetmon']);
    if (absent !== null) say(`FastNetMon is not compared: ${absent}`);
    const rows: Row[] = [];
    for (const input of INPUTS) rows.push(...(await compare(input, absent === null, say)));
    return rows;
  },
};

/** One input from its start to its end: a round of floods for each strength. */
async function compare(
  input: Input,
  withTheirs: boolean,
  say: (line: string) => void,
): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pcl-detection-'));
  const network = new Network('detection');
  const running: Running[] = [];
  try {
    const { sender, host } = wire(network);
    const theirs = withTheirs ? await startTheirs(host, folder, input) : null;
    if (theirs !== null) running.push(theirs);
    const { ours, lost, reportedAt } = await startOurs(host, folder, input, running);
    const rows: Row[] = [];
    for (const factor of FACTORS) {
      const trials = trialsOf(factor);
      await pause(CALM_MS);
      const sent = await sendFloods(sender, plansOf(trials, sender, host));
      await pause(END_MS);
      const mine = judge(trials, sent, ours.sightings(), reportedAt);
      const other = theirs && judge(trials, sent, sightingsOf(theirs.notices()));
      sayTrials(input.name, mine, other, say);
      rows.push(...rowsOf(`${input.name}, ${factor} x`, mine, other));
    }
    rows.push(strayRow(input.name, ours.sightings(), theirs && sightingsOf(theirs.notices())));
    const missed = lost();
    if (missed !== null) say(`${input.name}: of ours, ${missed}`);
    return rows;
  } finally {
    for (const one of running.toReversed()) await one.stop();
    network.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Records on what nothing was sent to, such as the prefix around everything. */
function strayRow(
  name: string,
  ours: readonly Sighting[],
  theirs: readonly Sighting[] | null,
): Row {
  const sentTo = new Set(FACTORS.flatMap(trialsOf).map(({ target }) => target));
  const strays = (all: readonly Sighting[]): number =>
    all.filter(({ ip }) => !sentTo.has(ip)).length;
  return {
    name: `${name}: records on what was not flooded`,
    value: strays(ours),
    unit: 'records',
    baseline: theirs && strays(theirs),
    goal: 0,
    goalIs: 'at most',
  };
}

/** Starts our detector with its input. */
async function startOurs(
  host: Namespace,
  folder: string,
  input: Input,
  running: Running[],
): Promise<{
  readonly ours: OurEdge | OurCollector;
  readonly lost: () => string | null;
  readonly reportedAt: (ip: string) => number | null;
}> {
  const options = { networks: NETWORKS, ...THRESHOLD, holdSeconds: HOLD_SECONDS };
  if (input.exporter === null) {
    const ours = await OurEdge.start(host, DEVICE, options);
    running.push(ours);
    return { ours, lost: () => null, reportedAt: () => null };
  }
  const ours = await OurCollector.start(host, { ...options, port: OUR_PORT });
  const reports = await Reports.start(host, REPORTS_PORT, THRESHOLD.pps);
  running.push(ours, reports, await startFan(host));
  running.push(await exporting(host, folder, input.exporter));
  return {
    ours,
    reportedAt: (ip) => reports.of(ip),
    lost: () => {
      const { lost = 0, socketDrops = 0 } = ours.counters();
      return `${lost} exports lost, ${socketDrops} dropped at its socket`;
    },
  };
}

/** The host takes everything in as far as readers of packets see it, and no further. */
function wire(network: Network): { readonly sender: Namespace; readonly host: Namespace } {
  const sender = network.create('sender');
  const host = network.create('host');
  network.join(sender, { device: 'v0', addresses: [] }, host, {
    device: DEVICE,
    addresses: ['203.0.113.1/24', '2001:db8:5::1/64'],
  });
  // A veth takes XDP programs only so.
  for (const [where, device] of [[sender, 'v0'] as const, [host, DEVICE] as const]) {
    where.run('ethtool', '-K', device, 'gro', 'on');
  }
  host.run('nft', dropAtIngress(DEVICE));
  return { sender, host };
}

function plansOf(trials: readonly Trial[], sender: Namespace, host: Namespace): FloodPlan[] {
  const { ifindex } = linkOf(sender, 'v0');
  const { address: to } = linkOf(host, DEVICE);
  return trials.map(({ name, kind, target, factor }) => ({
    name,
    kind,
    target,
    to,
    device: 'v0',
    ifindex,
    pps: THRESHOLD.pps * factor,
    seconds: FLOOD_SECONDS,
  }));
}

async function startTheirs(host: Namespace, folder: string, { kind }: Input): Promise<FastNetMon> {
  return FastNetMon.start(host, join(folder, 'fastnetmon'), {
    input: kind === 'packets' ? { kind, device: DEVICE } : { kind, port: THEIR_PORT },
    networks: NETWORKS,
    ...THRESHOLD,
    banSeconds: BAN_SECONDS,
  });
}

interface Running {
  stop(): Promise<void>;
}

async function startFan(host: Namespace): Promise<Running> {
  const script = join(ROOT, 'lab', 'flows', 'fan-process.ts');
  const ports = [EXPORT_PORT, OUR_PORT, THEIR_PORT, REPORTS_PORT].map(String);
  const fan = host.spawn([...FIRST, process.execPath, script, ...ports], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await within(10_000, 'exports are not passed on', once(fan.stdout as Readable, 'data'));
  return stopping(fan, 'SIGKILL');
}

async function exporting(host: Namespace, folder: string, exporter: string): Promise<Running> {
  const real = REAL_EXPORTERS.find(({ name }) => name === exporter);
  if (real === undefined) throw new Error(`no exporter ${exporter}`);
  const place = join(folder, 'exporter');
  mkdirSync(place);
  return stopping(await startExporter(real, host, DEVICE, EXPORT_PORT, place), 'SIGINT');
}

function stopping(child: ChildProcess, signal: NodeJS.Signals): Running {
  return {
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill(signal);
      await within(20_000, 'it does not end', gone);
    },
  };
}
