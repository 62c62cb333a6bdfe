import type { Family } from '@portcullis/core/net/address.ts';
import { type Cidr, formatNetwork } from '@portcullis/core/net/cidr.ts';
import { mergeCidrs } from '@portcullis/core/net/cidr-sets.ts';
import type { AddChain } from '../chain.ts';
import { networkFrom, PolicyError } from '../../compile/match.ts';
import { IP } from '../names.ts';

/** A value for all sources, or one for the sources in some networks and one for all others. */
export type BySource<T> =
  | { readonly kind: 'all'; readonly value: T }
  | {
      readonly kind: 'split';
      /** Networks of one family that do not overlap; never empty. */
      readonly networks: readonly Cidr[];
      readonly inside: BySource<T>;
      readonly outside: BySource<T>;
    };

interface Exempting {
  readonly ref: string;
  readonly safelist: readonly string[];
}

/**
 * Each safelist may double the number of lookups. The attacks on an address have at most two: that of control and that
 * of the edge.
 */
const MAX_SAFELISTS = 8;

/** Assigns values to sources: a value does not apply to the sources of its safelist. */
export function bySource<One extends Exempting, T>(
  list: readonly One[],
  family: Family,
  holding: (list: readonly One[]) => T,
): BySource<T> {
  const safelists = new Map<string, readonly Cidr[]>();
  for (const { safelist } of list) {
    const networks = safeNetworks(safelist, family);
    if (networks.length > 0) safelists.set(nameOf(networks), networks);
  }
  if (safelists.size > MAX_SAFELISTS) {
    throw new PolicyError(`${list[0]?.ref} and others on its port have too many safelists`);
  }
  const split = (left: readonly (readonly Cidr[])[], held: readonly One[]): BySource<T> => {
    const [networks, ...others] = left;
    if (networks === undefined) return { kind: 'all', value: holding(held) };
    const name = nameOf(networks);
    const rest = held.filter(({ safelist }) => nameOf(safeNetworks(safelist, family)) !== name);
    const inside = split(others, rest);
    const isAll = networks.some(({ length }) => length === 0);
    return isAll ? inside : { kind: 'split', networks, inside, outside: split(others, held) };
  };
  return split([...safelists.values()], list);
}

/** Merges the networks, because the kernel refuses overlapping ones. */
export function safeNetworks(safelist: readonly string[], family: Family): Cidr[] {
  return mergeCidrs(safelist.map(networkFrom).filter((one) => one.family === family));
}

/** `{ 192.0.2.0/24, 198.51.100.7 }` */
export function networkSet(networks: readonly Cidr[]): string {
  return `{ ${networks.map(formatNetwork).join(', ')} }`;
}

/** Applies `make` to each value. */
export function mapBySource<T, U>(of: BySource<T>, make: (value: T) => U): BySource<U> {
  if (of.kind === 'all') return { kind: 'all', value: make(of.value) };
  const { networks, inside, outside } = of;
  return {
    kind: 'split',
    networks,
    inside: mapBySource(inside, make),
    outside: mapBySource(outside, make),
  };
}

export function* valuesOf<T>(of: BySource<T>): Generator<T> {
  if (of.kind === 'all') yield of.value;
  else {
    yield* valuesOf(of.inside);
    yield* valuesOf(of.outside);
  }
}

/** A chain that sends each source to its own chain. Null accepts. */
export function chainBySource(
  of: BySource<string | null>,
  { family, address, add }: { family: Family; address: 'saddr' | 'daddr'; add: AddChain },
): string {
  const verdictOf = (one: BySource<string | null>): string => {
    if (one.kind === 'all') return one.value === null ? 'accept' : `goto ${one.value}`;
    return `goto ${chainOf(one)}`;
  };
  const chainOf = ({ networks, inside, outside }: Extract<typeof of, { kind: 'split' }>): string =>
    add(`safe${family}`, [
      `${IP[family]} ${address} ${networkSet(networks)} ${verdictOf(inside)}`,
      verdictOf(outside),
    ]);
  if (of.kind === 'split') return chainOf(of);
  return of.value ?? add('safe', ['accept']);
}

function nameOf(networks: readonly Cidr[]): string {
  return networks.map(formatNetwork).join();
}
