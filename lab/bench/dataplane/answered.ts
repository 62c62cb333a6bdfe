import { spawn } from 'node:child_process';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { Namespace } from '../../stack/netns.ts';
import type { Plan } from '../generator/plan.ts';
import { CLIENTS, type Target } from '../generator/traffic.ts';
import { quantile, rateOf } from '../measure.ts';
import type { Row } from '../report.ts';
import { addressOf, OPEN_PORT, policiesOf } from './policies.ts';
import { Subjects } from './subjects.ts';

/**
 * The cost of a packet that passes, as players see it: UDP flows that servers answer, in both directions, through the
 * edge as it runs and through a router that follows connections. The far end costs next to nothing.
 */
const UNIT = 'M packets/s';
const NAMES: Readonly<Record<Family, string>> = { 4: 'IPv4', 6: 'IPv6' };
const ROUNDS = 9;
const PACKETS = 400_000;
/** Random answers leave out almost no flow. */
const ANSWERS_TO_A_FLOW = 12;
const CLIENT_PORT = 40_000;
/** Detection counts, and no attack is on. */
const OUT_OF_REACH = 2 ** 40;
const NETWORKS: Readonly<Record<Family, string>> = { 4: '10.0.0.0/16', 6: '2001:db8:5::/64' };

/** Flows from one client by its port, to `addresses` (a power of two) servers. */
interface Flows {
  readonly family: Family;
  readonly addresses: number;
  readonly ports: number;
}

type Way = 'client to server' | 'server to client';

interface AnsweredCase {
  readonly name: string;
  readonly target: Target;
  readonly flows: Flows;
  readonly way: Way;
  /** Packets end on the target. */
  readonly isLocal: boolean;
  /** Called before each round. */
  readonly renew?: () => void;
}

interface Compared {
  readonly what: string;
  readonly name: string;
  readonly baseline: string;
  readonly goal: number | null;
}

type Say = (line: string) => void;

/** The rows of one family. */
export async function answeredRows(family: Family, say: Say): Promise<Row[]> {
  const subjects = new Subjects(`answered${family}`);
  const sockets: (() => void)[] = [];
  try {
    const cases = [
      ...(await routedCases(subjects, family)),
      xdpCase(subjects, family),
      ...(await localCases(subjects, family, sockets)),
    ];
    const ratios = await interleaved(subjects, cases, say);
    return compared(cases).map((one) => rowOf(one, ratios, family, say));
  } finally {
    for (const stop of sockets) stop();
    await subjects.destroy();
  }
}

async function routedCases(subjects: Subjects, family: Family): Promise<AnsweredCase[]> {
  const of = await targetsOf(subjects, family);
  const many = { family, addresses: 1024, ports: 4 };
  const most = { family, addresses: 8192, ports: 5 };
  const container = { family, addresses: 1, ports: 4096 };
  return [...of].flatMap(([name, target]) => {
    const one = { target, isLocal: false, way: 'client to server' } as const;
    return [
      { ...one, name: `${name} 4096`, flows: many },
      { ...one, name: `${name} 4096 answers`, flows: many, way: 'server to client' },
      { ...one, name: `${name} 40960`, flows: most },
      { ...one, name: `${name} one`, flows: container },
    ];
  });
}

function xdpCase(subjects: Subjects, family: Family): AnsweredCase {
  const fleet = { family, addresses: 10_000, rules: 10, end: 'deny' } as const;
  return {
    ...subjects.answersByXdp(fleet),
    name: 'XDP 4096 answers',
    flows: { family, addresses: 1024, ports: 4 },
    way: 'server to client',
    isLocal: false,
  };
}

async function targetsOf(subjects: Subjects, family: Family): Promise<Map<string, Target>> {
  const options = { scopes: scopesOf(family), answers: true };
  const policies = policiesOf({ family, addresses: 10_000, rules: 10, end: 'deny' });
  const slow = await subjects.running(policies, options);
  const fast = await subjects.running(policies, { ...options, fastPath: true });
  const tc = await subjects.running(policies, { ...options, fastPath: true, mode: 'tc' });
  return new Map([
    ['router', subjects.tracking({ answers: true })],
    ['edge', slow.target],
    ['fast', fast.target],
    ['tc', tc.target],
  ]);
}

async function localCases(
  subjects: Subjects,
  family: Family,
  sockets: (() => void)[],
): Promise<AnsweredCase[]> {
  const policies = policiesOf({ family, addresses: 10_000, rules: 10, end: 'deny' });
  const edge = await subjects.running(policies, { scopes: scopesOf(family) });
  const flows = { family, addresses: 1, ports: 4096 };
  return [['router local', subjects.tracking()] as const, ['edge local', edge.target] as const].map(
    ([name, target]) => {
      sockets.push(listen(target.namespace, family));
      return { name, target, flows, way: 'client to server', isLocal: true };
    },
  );
}

/** A socket that nobody reads: what it has no place for ends there. */
function listen(namespace: Namespace, family: Family): () => void {
  const address = addressOf(family, 0);
  const own = `${address}/${family === 4 ? 32 : 128}`;
  namespace.run('ip', `-${family}`, 'route', 'add', 'local', own, 'dev', 'lo');
  const script = `import socket, time
s = socket.socket(socket.AF_INET${family === 4 ? '' : '6'}, socket.SOCK_DGRAM)
s.bind(("${address}", ${OPEN_PORT}))
time.sleep(86400)`;
  const [program, ...args] = namespace.command('python3', '-c', script);
  const child = spawn(program, args, { stdio: 'ignore' });
  return () => void child.kill();
}

/** Ratios to the router, by case: each round of a case stands beside the router's round of the same turn. */
async function interleaved(
  { range }: Subjects,
  cases: readonly AnsweredCase[],
  say: Say,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { name, target, flows, way, isLocal, renew } of cases) {
      renew?.();
      const { addresses, ports } = flows;
      const count = addresses * ports * ANSWERS_TO_A_FLOW;
      if (!isLocal) {
        await range.send(target, requestsOf(flows), count);
        await range.answer(target, answersOf(flows), count);
      }
      const counted =
        way === 'client to server'
          ? await range.send(target, requestsOf(flows), PACKETS)
          : await answersBack(range, target, flows);
      if (!isLocal && counted.passed < counted.sent * 0.98)
        throw new Error(`${name}: of ${counted.sent} packets ${counted.passed} passed`);
      if (round > 0) times.get(name)?.push(counted.ns);
    }
  }
  for (const [name, ns] of times) say(`${name}: ${quantile(ns, 0.5)} ns`);
  return times;
}

async function answersBack(range: Subjects['range'], target: Target, flows: Flows) {
  const before = range.answered(target);
  const counted = await range.answer(target, answersOf(flows), PACKETS);
  return { ...counted, passed: range.answered(target) - before };
}

function requestsOf({ family, addresses, ports }: Flows): Omit<Plan, 'to' | 'from'> {
  return {
    family,
    destination: addressOf(family, 0),
    destinations: addresses,
    source: CLIENTS[family],
    sourceRandom: 0,
    sourcePorts: [CLIENT_PORT, CLIENT_PORT + ports - 1],
    ports: [OPEN_PORT, OPEN_PORT],
    tcpShare: 0,
  };
}

function answersOf({ family, addresses, ports }: Flows): Omit<Plan, 'to' | 'from'> {
  return {
    family,
    destination: CLIENTS[family],
    destinations: 1,
    source: addressOf(family, 0),
    sourceRandom: addresses - 1,
    sourcePorts: [OPEN_PORT, OPEN_PORT],
    ports: [CLIENT_PORT, CLIENT_PORT + ports - 1],
    tcpShare: 0,
  };
}

/** How an edge forwards, by the name of its cases. */
const WAYS = {
  edge: 'the network stack',
  fast: 'the fast path',
  tc: 'the fast path at tc ingress',
};

/** For clients to servers, servers to clients, and clients to one server. */
const GOALS: Readonly<Record<string, readonly (number | null)[]>> = {
  edge: [0.5, 0.9, null],
  fast: [1.4, 1.3, 1.3],
};

function compared(cases: readonly AnsweredCase[]): Compared[] {
  const has = (name: string): boolean => cases.some((one) => one.name === name);
  const all = Object.entries(WAYS).flatMap(([subject, where]): Compared[] => {
    const of = (rest: string, what: string, goal: number | null): Compared => ({
      what: `${what}, by ${where}`,
      name: `${subject} ${rest}`,
      baseline: `router ${rest}`,
      goal,
    });
    const [routed = null, answers = null, one = null] = GOALS[subject] ?? [];
    return [
      of('4096', '4,096 answered flows, client to server', routed),
      of('40960', '40,960 answered flows, client to server', routed),
      of('4096 answers', '4,096 answered flows, server to client', answers),
      of('one', 'one address with 4,096 answered flows', one),
      of('local', 'one address of the host itself', 0.5),
    ];
  });
  all.push({
    what: '4,096 answered flows, server to client, by the fast path of cards alone',
    name: 'XDP 4096 answers',
    baseline: 'router 4096 answers',
    goal: 2,
  });
  return all.filter(({ name }) => has(name));
}

function rowOf(
  { what, name, baseline, goal }: Compared,
  times: ReadonlyMap<string, readonly number[]>,
  family: Family,
  say: Say,
): Row {
  const [own = [], other = []] = [times.get(name), times.get(baseline)];
  const ratios = own.map((ns, round) => (other[round] ?? Number.NaN) / ns);
  const [low, high] = [quantile(ratios, 0.25), quantile(ratios, 0.75)];
  const median = quantile(ratios, 0.5);
  say(
    `${name}: ${median.toFixed(2)} of the router, quartiles ${low.toFixed(2)} and ${high.toFixed(2)}`,
  );
  const beside = rateOf(quantile(other, 0.5));
  return {
    name: `${NAMES[family]}, ${what}, beside forwarding that follows connections`,
    value: beside * median,
    unit: UNIT,
    baseline: beside,
    quartiles: [low, high],
    goal,
  };
}

function scopesOf(family: Family): WatchScope[] {
  const thresholds = { ...DEFAULT_THRESHOLDS, mitigation: 'on', safelist: [] } as const;
  const far = { ...thresholds, pps: OUT_OF_REACH, bps: OUT_OF_REACH };
  return [{ scope: NETWORKS[family], ...far, subject: true }];
}
