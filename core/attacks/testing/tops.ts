import type { AttackTops } from '../mitigation/plan-mitigations.ts';
import { MAX_TOPS, type SourceProtocol, type TopSource } from '../top-talkers.ts';

/** Traffic of one kind: packets in a period, from one source or, without one, each from a source of its own. */
export interface Sent {
  readonly source?: string;
  readonly protocol: SourceProtocol;
  readonly port?: number;
  readonly packets: number;
  /** The part in answered flows, 0 to 1. */
  readonly answered?: number;
}

/** A generator of numbers from 0 to 1 (mulberry32): the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The tops of an edge that has sampled the traffic. `knows`: it sees both directions. */
export function sampledTops(
  all: readonly Sent[],
  { samples, random, knows = true }: Sampling,
): AttackTops {
  const total = all.reduce((sum, { packets }) => sum + packets, 0);
  const each = total / samples;
  const sources = new Map<string, TopSource>();
  const ports = new Map<string, { port: number; protocol: 'tcp' | 'udp'; packets: number }>();
  for (let index = 0; index < samples; index += 1) {
    let left = random() * total;
    const one = all.find(({ packets }) => (left -= packets) < 0) ?? all.at(-1);
    if (one === undefined) break;
    const { protocol, port = 0 } = one;
    const source = one.source ?? `11.${[0, 0, 0].map(() => Math.floor(random() * 256)).join('.')}`;
    const key = `${protocol} ${source}`;
    const known = sources.get(key);
    // One in eight packets of answered flows is counted, as one sample in so many stands for the others.
    const answered = (known?.answered ?? 0) + (random() < (one.answered ?? 0) ? each : 0);
    const packets = (known?.packets ?? 0) + each;
    sources.set(key, { source, protocol, packets, ...(knows && { answered }) });
    if (port === 0 || (protocol !== 'tcp' && protocol !== 'udp')) continue;
    const before = ports.get(`${protocol} ${port}`)?.packets ?? 0;
    ports.set(`${protocol} ${port}`, { port, protocol, packets: before + each });
  }
  const largest = <T extends { readonly packets: number }>(list: Iterable<T>): T[] =>
    [...list].toSorted((a, b) => b.packets - a.packets).slice(0, MAX_TOPS);
  return {
    sampled: { samples, packets: total },
    sources: largest(sources.values()),
    sourcePorts: [],
    destinationPorts: largest(ports.values()),
  };
}

interface Sampling {
  readonly samples: number;
  readonly random: () => number;
  readonly knows?: boolean;
}
