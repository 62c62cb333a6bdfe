import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { allowPort, denyAll } from '@portcullis/dataplane/testing/policies.ts';
import {
  CLIENT,
  CLIENT_PORT,
  ForwardingWire,
  SERVER,
  SERVER_PORT,
} from '../../differential/forwarding-wire.ts';
import type { Namespace } from '../../stack/netns.ts';
import { Generator } from '../generator/generator-process.ts';
import { median } from '../measure.ts';
import type { Row } from '../report.ts';
import { BenchEdge } from './edge-process.ts';

/**
 * The round trips of a player through a router, and through an edge with and without its fast path, while a flood of
 * three thresholds goes to another port of the same server.
 */
const ROUNDS = 5;
const TIMES_THRESHOLD = 3;
const BURST_MS = 20;
/** So long that the attack is noticed before the first round. */
const NOTICED_MS = 3_000;
const UNIT = 'microseconds';

type Say = (line: string) => void;

interface Subject {
  readonly name: string;
  readonly wire: ForwardingWire;
  readonly generator: Generator;
  /** Null: a router. */
  readonly edge: BenchEdge | null;
  /** Plays for a second or two. */
  readonly play: () => Promise<Played>;
  readonly stop: () => Promise<void>;
}
/** In microseconds. */
interface Played {
  readonly half: number;
  readonly most: number;
  readonly lost: number;
}

export async function playersRows(say: Say): Promise<Row[]> {
  const subjects: Subject[] = [];
  try {
    for (const name of ['router', 'network stack', 'fast path'] as const)
      subjects.push(await subjectOf(name));
    // An attack goes on for a minute after its last packet.
    const quiet = await interleaved(subjects, (subject) => subject.play());
    await sayForwarded(subjects, say);
    const flooded = await interleaved(subjects, playInFlood);
    await sayForwarded(subjects, say);
    return [...rowsOf(quiet, 'without a flood', say), ...rowsOf(flooded, 'in a flood', say)];
  } finally {
    for (const subject of subjects) await subject.stop();
  }
}

type Results = ReadonlyMap<string, readonly Played[]>;

/** Round 0 warms up. */
async function interleaved(
  subjects: readonly Subject[],
  play: (subject: Subject, isFirst: boolean) => Promise<Played>,
): Promise<Results> {
  const results = new Map<string, Played[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++)
    for (const subject of subjects) {
      const played = await play(subject, round === 0);
      if (round > 0) results.get(subject.name)?.push(played);
    }
  return results;
}

async function sayForwarded(subjects: readonly Subject[], say: Say): Promise<void> {
  for (const { name, edge } of subjects) {
    const state = (await edge?.reported())?.fastPath;
    if (state?.isOn === true) say(`${name}: ${state.packets} packets by the fast path`);
  }
}

async function playInFlood(subject: Subject, isFirst: boolean): Promise<Played> {
  const end = new AbortController();
  const flooding = flood(subject, end.signal);
  if (isFirst) await wait(NOTICED_MS);
  const played = await subject.play();
  end.abort();
  await flooding;
  return played;
}

async function flood({ wire, generator }: Subject, end: AbortSignal): Promise<void> {
  const { ifindex, mac: from } = wire.linkOf(wire.client, 'eth');
  const { mac: to } = wire.linkOf(wire.edge, 'wan');
  const packets = (DEFAULT_THRESHOLDS.pps * TIMES_THRESHOLD * BURST_MS) / 1000;
  const plan = {
    family: 4,
    destination: SERVER[4],
    destinations: 1,
    source: '198.18.0.0',
    sourceRandom: 0xffff,
    sourcePorts: [1024, 65_535],
    ports: [1024, 9_999],
    tcpShare: 0,
    to,
    from,
  } as const;
  for (let dueMs = performance.now(); !end.aborted; dueMs += BURST_MS) {
    await generator.send({ device: 'eth', ifindex, plan, packets });
    await wait(Math.max(0, dueMs + BURST_MS - performance.now()));
  }
}

async function subjectOf(name: 'router' | 'network stack' | 'fast path'): Promise<Subject> {
  const wire = new ForwardingWire(`players-${name.replace(' ', '-')}`);
  wire.client.run('ethtool', '-K', 'eth', 'tx', 'off');
  const edge = name === 'router' ? null : edgeOn(wire, name === 'fast path');
  if (edge === null) wire.edge.run('nft', ROUTER);
  else await edge.start();
  const server = wire.behind.spawn(['python3', '-c', ECHO], { stdio: 'ignore' });
  const player = await playerOn(wire.client);
  const generator = new Generator(wire.client, { niceness: 0 });
  const stop = async (): Promise<void> => {
    server.kill();
    player.stop();
    generator.stop();
    await edge?.destroy();
    wire.destroy();
  };
  return { name, wire, generator, edge, play: player.play, stop };
}

function edgeOn(wire: ForwardingWire, isFast: boolean): BenchEdge {
  const policy = denyAll(SERVER[4], [allowPort('udp', SERVER_PORT)]);
  const settings = {
    devices: ['wan'],
    management: [],
    sees: 'both',
    fragments: 'reassemble',
  } as const;
  const thresholds = { ...DEFAULT_THRESHOLDS, mitigation: 'on', safelist: [] } as const;
  const scopes = [{ scope: `${SERVER[4]}/32`, ...thresholds, subject: true }];
  const env = { PORTCULLIS_FAST_PATH: isFast ? 'on' : 'off' };
  return new BenchEdge(wire.edge, [policy], settings, { scopes, env });
}

const ROUTER =
  'table inet tracking { chain forward { type filter hook forward priority 0; ct state invalid drop; }; }';

const ECHO = `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("${SERVER[4]}", ${SERVER_PORT}))
while True:
    data, peer = s.recvfrom(2048)
    s.sendto(data, peer)`;

/** A packet a millisecond. */
const PLAYER = `import json, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("${CLIENT[4]}", ${CLIENT_PORT}))
s.settimeout(1)
print("ready", flush=True)
while True:
    input()
    took, lost = [], 0
    for turn in range(1000):
        begin = time.perf_counter_ns()
        s.sendto(b"%8d" % turn * 8, ("${SERVER[4]}", ${SERVER_PORT}))
        try:
            while s.recv(2048) != b"%8d" % turn * 8:
                pass
            took.append((time.perf_counter_ns() - begin) / 1000)
        except TimeoutError:
            lost += 1
        time.sleep(0.001)
    took.sort()
    print(json.dumps({"half": took[len(took) // 2], "most": took[len(took) * 99 // 100], "lost": lost}), flush=True)`;

async function playerOn(
  namespace: Namespace,
): Promise<{ readonly play: () => Promise<Played>; readonly stop: () => void }> {
  const child = namespace.spawn(['python3', '-c', PLAYER], { stdio: ['pipe', 'pipe', 'inherit'] });
  if (child.stdout === null) throw new Error('no output is read');
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  return {
    play: async () => {
      const line = once(lines, 'line');
      child.stdin?.write('\n');
      return JSON.parse(String((await line)[0])) as Played;
    },
    stop: () => void child.kill(),
  };
}

function rowsOf(results: Results, when: string, say: Say): Row[] {
  const router = results.get('router') ?? [];
  const of = (played: readonly Played[], field: 'half' | 'most'): number =>
    median(played.map((one) => one[field]));
  return [...results].flatMap(([name, played]) => {
    say(`${name} ${when}: ${played.reduce((sum, { lost }) => sum + lost, 0)} lost`);
    if (name === 'router') return [];
    return (['half', 'most'] as const).map(
      (field): Row => ({
        name: `a player's round trip ${when}, by the ${name}, ${field === 'half' ? 'p50' : 'p99'}`,
        value: of(played, field),
        unit: UNIT,
        baseline: of(router, field),
        goal: null,
      }),
    );
  });
}
