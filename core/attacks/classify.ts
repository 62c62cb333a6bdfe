import type { AttackType, PresentType, Share, Thresholds } from './attack.ts';
import { REFLECTORS, type Reflector, VECTOR_COUNT, VECTOR_INDEX } from './vectors.ts';

/** Reflector answers are longer; shorter packets from such a port count as other UDP. */
const ANSWER_BYTES = 200;
/** Two vectors above this share make a multi-vector attack. */
const SECOND_SHARE = 0.3;
const MAJORITY = 0.5;
/** Later fragments belong to a reflector if it sent at least this ratio of first fragments. */
const FIRST_FRAGMENTS = 0.1;
const SHOWN_SHARE = 0.05;

/** Packets and bytes interleaved, by vector in the order of `VECTORS`. */
export type VectorTotals = Float64Array;

export function createTotals(): VectorTotals {
  return new Float64Array(VECTOR_COUNT * 2);
}

/**
 * Classifies traffic, given without its usual part. A vector weighs as its share of the threshold in packets or in
 * bytes, whichever is higher, so that few large reflector answers and many small SYNs are comparable.
 */
export function classify(
  totals: VectorTotals,
  { pps, bps }: Pick<Thresholds, 'pps' | 'bps'>,
): { readonly type: AttackType; readonly shares: readonly Share[] } {
  const kinds = nameable(group(totals));
  const weightOf = ({ packets, bytes }: Amount): number =>
    Math.max(packets / pps, (bytes * 8) / bps);
  const weights = [...kinds].map(([type, amount]) => ({ type, weight: weightOf(amount) }));
  const total = weights.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return { type: 'other_flood', shares: [] };
  const shares = weights
    .map(({ type, weight }) => ({ type, share: weight / total }))
    .filter(({ share }) => share >= SHOWN_SHARE)
    .toSorted((a, b) => b.share - a.share);
  return { type: nameOf(shares), shares };
}

/** The types whose rate, packets and bytes per second by vector, exceeds a threshold by itself. */
export function typesAbove(
  rates: VectorTotals,
  { pps, bps }: Pick<Thresholds, 'pps' | 'bps'>,
): PresentType[] {
  const isAbove = ({ packets, bytes }: Amount): boolean => packets >= pps || bytes * 8 >= bps;
  return [...group(rates)].flatMap(([type, amount]) => (isAbove(amount) ? [type] : []));
}

/** The types that make up the rate together, where none exceeds a threshold by itself. */
export function typesTogether(
  rates: VectorTotals,
  { pps, bps }: Pick<Thresholds, 'pps' | 'bps'>,
): PresentType[] {
  const weights = [...group(rates)].map(
    ([type, { packets, bytes }]) => [type, Math.max(packets / pps, (bytes * 8) / bps)] as const,
  );
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  return weights.flatMap(([type, weight]) => (weight >= total * SECOND_SHARE ? [type] : []));
}

function nameOf([first, second]: readonly Share[]): AttackType {
  if (first === undefined) return 'other_flood';
  if (second !== undefined && second.share >= SECOND_SHARE) return 'multi_vector';
  return first.share >= MAJORITY ? first.type : 'multi_vector';
}

interface Amount {
  packets: number;
  bytes: number;
}

/** The names of records have no word for TCP with invalid flags. */
function nameable(kinds: ReadonlyMap<PresentType, Amount>): Map<AttackType, Amount> {
  const named = new Map<AttackType, Amount>();
  for (const [kind, { packets, bytes }] of kinds) {
    const type = kind === 'tcp_other_flood' ? 'other_flood' : kind;
    const known = named.get(type) ?? { packets: 0, bytes: 0 };
    named.set(type, { packets: known.packets + packets, bytes: known.bytes + bytes });
  }
  return named;
}

function group(totals: VectorTotals): Map<PresentType, Amount> {
  const kinds = new Map<PresentType, Amount>();
  const add = (type: PresentType, { packets, bytes }: Amount): void => {
    if (packets <= 0 && bytes <= 0) return;
    const known = kinds.get(type);
    if (known === undefined) kinds.set(type, { packets, bytes });
    else {
      known.packets += packets;
      known.bytes += bytes;
    }
  };
  const of = (vector: number): Amount => ({
    packets: Math.max(0, totals[vector * 2] as number),
    bytes: Math.max(0, totals[vector * 2 + 1] as number),
  });
  add('tcp_syn_flood', of(VECTOR_INDEX.tcp_syn));
  add('tcp_syn_ack_flood', of(VECTOR_INDEX.tcp_syn_ack));
  add('tcp_ack_flood', of(VECTOR_INDEX.tcp_ack));
  // Data transfers and the packets of crowds that are served count by their bytes only.
  add('tcp_ack_flood', { packets: 0, bytes: of(VECTOR_INDEX.tcp_data).bytes });
  add('tcp_rst_flood', of(VECTOR_INDEX.tcp_rst));
  add('icmp_flood', of(VECTOR_INDEX.icmp));
  add('gre_flood', of(VECTOR_INDEX.gre));
  add('tcp_other_flood', of(VECTOR_INDEX.tcp_other));
  add('other_flood', of(VECTOR_INDEX.other));
  add('udp_flood', of(VECTOR_INDEX.udp));
  const reflected = largestReflector(of, add);
  const later = of(VECTOR_INDEX.fragment);
  const isAnswer = reflected !== null && reflected.packets >= later.packets * FIRST_FRAGMENTS;
  add(isAnswer ? `${reflected.name}_amplification` : 'ip_fragment_flood', later);
  add('ip_fragment_flood', of(VECTOR_INDEX.fragment_first));
  return kinds;
}

/** Splits traffic from reflector ports into answers and other UDP, and returns the reflector with the most answers. */
function largestReflector(
  of: (vector: number) => Amount,
  add: (type: AttackType, amount: Amount) => void,
): { readonly name: Reflector; readonly packets: number } | null {
  let largest: { name: Reflector; packets: number; bytes: number } | null = null;
  for (const name of Object.keys(REFLECTORS) as Reflector[]) {
    const amount = of(VECTOR_INDEX[`udp_${name}`]);
    const answers = amount.bytes > amount.packets * ANSWER_BYTES;
    add(answers ? `${name}_amplification` : 'udp_flood', amount);
    if (answers && amount.bytes > (largest?.bytes ?? 0)) largest = { name, ...amount };
  }
  return largest;
}
