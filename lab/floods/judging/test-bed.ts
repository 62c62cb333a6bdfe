import { setTimeout as pause } from 'node:timers/promises';
import { containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import {
  type NamedCounterReader,
  openCounterReader,
} from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import { ASKED, type DrawnAttack, GAME, secondsOf, THRESHOLDS } from '../attacks/attack.ts';
import { AttackJournal, type RecordedAttack } from '../attack-journal.ts';
import { sendFloods } from '../flood.ts';
import type { FloodPlan, FloodReport } from '../schedule.ts';
import { edgesCount, wireToFirst } from '../second-edge.ts';
import { Witness } from '../witness.ts';
import { createInternet, EDGE_DEVICE, type Internet, SERVER } from '../../stack/internet.ts';
import { sysctl } from '../../stack/netns.ts';
import { startServices } from '../../stack/services.ts';
import { ORGANISATION, type Stack, startStack } from '../../stack/stack.ts';
import { eventually } from '../../system/stack-fixture.ts';
import { UdpPeer } from '../../wire/udp-peer.ts';
import { Clients } from './clients.ts';
import { clientsPlan, floodPlans, type Place, placeOf } from './places.ts';
import { type AttackRun, isDoubtful, type Snapshot } from './verdict.ts';

export interface TestBedOptions {
  readonly label: string;
  readonly plane: 'xdp' | 'nftables';
  /** The number of attacks; as many prefixes again are kept for those that are sent twice. */
  readonly runs: number;
}

export interface RunOptions {
  /** The agent of the edge is killed with SIGKILL in the middle of the attack, and started again by its supervisor. */
  readonly killsAgent?: boolean;
  /** The attack continues until it resolves, however long its vectors are; a crowd comes for its own time. */
  readonly until?: (ongoing: Ongoing) => Promise<void>;
}

export interface Ongoing {
  readonly place: Place;
  /** Packets of each vector that have reached the server, also those of earlier attacks. */
  passed(): Promise<readonly number[]>;
}

/** The work that was sent, and where. */
export interface Done {
  readonly run: AttackRun;
  readonly place: Place;
}

const COUNTING = 'counting';
/** More vectors than any attack has. */
const MARKS = 8;
/** Clients are answered for as long before an attack begins. */
const BEFORE_MS = 1_500;
const SNAPSHOT_MS = 100;
const COUNTED_MS = 40_000;
/** The detector learns the usual traffic of a prefix for 30 s, in which no attack on it begins. */
const LEARNT_MS = 32_000;
const REMEMBERED_MS = 120_000;
/** Longer than a supervised process must run until it counts as healthy. */
const HEALTHY_MS = 33_000;
/** Longer than any attack that is ended. */
const ENDLESS_SECONDS = 60;

/**
 * One edge with its control plane and a server behind it, which many attacks are sent to, each to a prefix of its
 * own.
 */
export class TestBed {
  readonly internet: Internet;
  readonly stack: Stack;
  readonly #journal: AttackJournal;
  readonly #game: UdpPeer;
  readonly #counters: NamedCounterReader;
  readonly #witness = new Witness();
  readonly #startedMs = performance.now();
  readonly #undo: (() => Promise<void> | void)[];
  #next = 0;
  /** When the agent of the edge was started last, as far as it is known. */
  #agentStartedMs = -Infinity;
  /** The counters are read by one request after the other. */
  #reading: Promise<unknown> = Promise.resolve();

  static async start(options: TestBedOptions): Promise<TestBed> {
    const undo: (() => Promise<void> | void)[] = [];
    try {
      const internet = createInternet(options.label);
      undo.push(() => internet.destroy());
      routeAll(internet);
      const services = startServices(internet);
      undo.push(() => services.stop());
      const stack = await startStack(internet, {
        fleet: fleetOf(2 * options.runs),
        earlyDrop: options.plane === 'xdp',
      });
      undo.push(() => stack.stop());
      await eventually('the edge counts', () => edgesCount(stack, 1), COUNTED_MS);
      const journal = await AttackJournal.open(stack);
      undo.push(() => journal.close());
      return new TestBed(internet, stack, journal, undo);
    } catch (error) {
      for (const step of undo.toReversed()) await step();
      throw error;
    }
  }

  private constructor(
    internet: Internet,
    stack: Stack,
    journal: AttackJournal,
    undo: (() => Promise<void> | void)[],
  ) {
    this.internet = internet;
    this.stack = stack;
    this.#journal = journal;
    this.#undo = undo;
    this.#game = new UdpPeer(internet.server);
    this.#counters = internet.server.within(() => openCounterReader(COUNTING));
    undo.push(
      () => this.#game.stop(),
      () => this.#counters.close(),
      () => this.#witness.stop(),
    );
  }

  async stop(): Promise<void> {
    for (const step of this.#undo.splice(0).toReversed()) await step();
  }

  /**
   * Sends an attack with all clients beside it, and repeats it against another prefix if the machine may be why a goal was
   * missed.
   */
  async send(attack: DrawnAttack, family: 4 | 6, options: RunOptions = {}): Promise<Done> {
    const first = await this.sendOnce(attack, family, options);
    return isDoubtful(first.run) ? this.sendOnce(attack, family, options) : first;
  }

  async sendOnce(attack: DrawnAttack, family: 4 | 6, options: RunOptions = {}): Promise<Done> {
    const place = placeOf(this.#next++, family);
    return { place, run: await this.#run(attack, place, options) };
  }

  async #run(attack: DrawnAttack, place: Place, options: RunOptions): Promise<AttackRun> {
    if (attack.over !== undefined && attack.over !== 'address') await this.#learnt();
    if (options.killsAgent === true) await this.#agentIsHealthy();
    await this.#game.open(place.address, GAME, '', ASKED);
    const clients = await Clients.start(this.internet.client, clientsPlan(attack, place));
    const snapshots: Snapshot[] = [];
    const sampling = setInterval(
      () => void this.#snapshot(attack).then((one) => snapshots.push(one)),
      SNAPSHOT_MS,
    );
    try {
      snapshots.push(await this.#snapshot(attack));
      await pause(BEFORE_MS);
      const killing = options.killsAgent === true ? this.#killAgent(attack) : null;
      const ongoing = { place, passed: async () => (await this.#snapshot(attack)).packets };
      const until = options.until === undefined ? null : () => options.until?.(ongoing);
      const sent = await this.#flood(attack, place, clients, until);
      await killing;
      await pause(3 * SNAPSHOT_MS);
      snapshots.push(await this.#snapshot(attack));
      const tries = await clients.stop();
      const heldUpMs = this.#heldUpMs(sent);
      const { family } = place;
      return { ...sent, attack, family, passed: sinceFirst(snapshots), tries, heldUpMs };
    } finally {
      clearInterval(sampling);
      clients.kill();
      await this.#reading;
    }
  }

  #heldUpMs({ floods, fromMs, toMs }: Pick<AttackRun, 'floods' | 'fromMs' | 'toMs'>): number {
    const sender = floods.map(({ longestPauseMs }) => longestPauseMs);
    return Math.round(Math.max(this.#witness.stalledMs(fromMs, toMs), ...sender));
  }

  /** Records of a place's prefix and of what is in it. */
  async recordsOf({ prefix }: Place): Promise<readonly RecordedAttack[]> {
    const outer = parseCidr(prefix);
    return (await this.#journal.readAll()).filter(({ subject }) => {
      const inner = parseCidr(subject);
      return outer.ok && inner.ok && containsCidr(outer.value, inner.value);
    });
  }

  /** Control hangs: its sockets stay open and answer nothing. Resolves when the edge acts by itself. */
  async hangControl(): Promise<void> {
    process.kill(this.stack.pidOf('control/main.ts'), 'SIGSTOP');
    await pause(5_000);
  }

  /**
   * Control is killed, and started again by its supervisor. Resolves when these prefixes have records, or never will.
   */
  async restartControl(places: readonly Place[]): Promise<void> {
    process.kill(this.stack.pidOf('control/main.ts'), 'SIGKILL');
    const deadline = performance.now() + REMEMBERED_MS;
    for (let missing = places; missing.length > 0 && performance.now() < deadline; ) {
      await pause(1_000);
      const found = await Promise.all(
        missing.map(async (place) => (await this.recordsOf(place).catch(() => [])).length),
      );
      missing = missing.filter((_, index) => found[index] === 0);
    }
  }

  async #learnt(): Promise<void> {
    await pause(Math.max(0, this.#startedMs + LEARNT_MS - performance.now()));
  }

  async #killAgent(attack: DrawnAttack): Promise<void> {
    const passed = async (): Promise<number> =>
      (await this.#snapshot(attack)).packets.reduce((sum, count) => sum + count, 0);
    const before = await passed();
    if (attack.vectors.length > 0)
      await eventually('the attack begins', async () => (await passed()) > before);
    await pause(secondsOf(attack) * 500);
    process.kill(this.stack.pidOf('edge/main.ts'), 'SIGKILL');
    this.#agentStartedMs = performance.now();
  }

  /** One that is killed again soon is started again later each time: what is judged is a kill now and then. */
  async #agentIsHealthy(): Promise<void> {
    await pause(Math.max(0, this.#agentStartedMs + HEALTHY_MS - performance.now()));
    await eventually('the edge counts', () => edgesCount(this.stack, 1), COUNTED_MS);
  }

  async #flood(
    attack: DrawnAttack,
    place: Place,
    clients: Clients,
    until: (() => Promise<void> | undefined) | null,
  ): Promise<Pick<AttackRun, 'floods' | 'fromMs' | 'toMs'>> {
    const plans = floodPlans(attack, place, wireToFirst(this.internet)).map((plan) =>
      until === null ? plan : { ...plan, seconds: ENDLESS_SECONDS },
    );
    const beganMs = performance.timeOrigin + performance.now();
    if (attack.crowd !== undefined) clients.gather();
    const enough = new AbortController();
    const [reports] = await Promise.all([
      this.#sendPlans(plans, enough.signal),
      pause((attack.crowd?.seconds ?? 0) * 1000),
      until?.()?.finally(() => enough.abort()),
    ]);
    const floods = plans.map(({ name }) => {
      const report = reports.get(name);
      if (report === undefined) throw new Error(`nothing was sent of ${name}`);
      return report;
    });
    if (floods.length === 0)
      return { floods, fromMs: beganMs, toMs: performance.timeOrigin + performance.now() };
    return {
      floods,
      fromMs: Math.min(...floods.map(({ beganAtMs }) => beganAtMs)),
      toMs: Math.max(...floods.map(({ endedAtMs }) => endedAtMs)),
    };
  }

  async #sendPlans(
    plans: readonly FloodPlan[],
    enough: AbortSignal,
  ): Promise<ReadonlyMap<string, FloodReport>> {
    if (plans.length === 0) return new Map();
    return sendFloods(this.internet.client, plans, new AbortController().signal, enough);
  }

  #snapshot({ vectors }: DrawnAttack): Promise<Snapshot> {
    const read = async (): Promise<Snapshot> => {
      const counters = await this.#counters.named();
      const atMs = performance.timeOrigin + performance.now();
      const packets = vectors.map((_, index) => counters?.get(`v${index + 1}`)?.packets ?? 0);
      return { atMs, packets };
    };
    const reading = this.#reading.then(read);
    this.#reading = reading.catch(() => undefined);
    return reading;
  }
}

function sinceFirst(snapshots: readonly Snapshot[]): Snapshot[] {
  const [first] = snapshots;
  return snapshots
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ atMs, packets }) => ({
      atMs,
      packets: packets.map((count, index) => count - (first?.packets[index] ?? 0)),
    }));
}

/** Every place is the server's, and every source of clients is the client's. */
function routeAll({ client, edge, server }: Internet): void {
  for (const [where, device] of [[client, 'eth0'] as const, [edge, EDGE_DEVICE] as const])
    where.run('ethtool', '-K', device, 'gro', 'on');
  for (const [family, net, via] of [
    ['-4', '10.200.0.0/14', SERVER[4]],
    ['-6', '2001:db8:1000::/36', SERVER[6]],
  ] as const) {
    edge.run('ip', family, 'route', 'add', net, 'via', via);
    server.run('ip', family, 'route', 'add', 'local', net, 'dev', 'lo');
  }
  for (const [family, net] of [
    ['-4', '100.64.0.0/10'],
    ['-6', '2001:db8:64::/46'],
  ] as const)
    client.run('ip', family, 'route', 'add', 'local', net, 'dev', 'lo');
  for (const where of [client, server]) sysctl(where, 'net.ipv6.ip_nonlocal_bind', 1);
  const marks = Array.from({ length: MARKS }, (_, index) => index + 1);
  const counters = marks.map((mark) => `counter v${mark} { }`);
  const rules = marks.flatMap((mark) =>
    ['ip', 'ip6'].map((family) => `${family} dscp ${mark} counter name "v${mark}"`),
  );
  const chain = ['type filter hook prerouting priority -450;', ...rules].join('\n');
  server.run(
    'nft',
    `table inet ${COUNTING} {\n${counters.join('\n')}\nchain input {\n${chain}\n}\n}`,
  );
}

function fleetOf(count: number): string {
  const since = 'since: "2026-01-01T00:00:00+00:00"';
  const places = ([4, 6] as const).flatMap((family) =>
    Array.from({ length: count }, (_, index) => placeOf(index, family).prefix),
  );
  const { pps, mbps, holdSeconds } = THRESHOLDS;
  return `organisations:
  ${ORGANISATION}:
    name: Acme
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    thresholds: { pps: ${pps}, mbps: ${mbps}, hold_seconds: ${holdSeconds} }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, ${since} }
${places.map((cidr) => `      - { cidr: "${cidr}", asn: 64500, ${since} }`).join('\n')}
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}] }
`;
}
