import { BITS } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { covers, type MatchRule, overlapping, type SourceMatch } from './match.ts';

/** Finds rules that overlap a given one (`overlapping`). Each is added with a number. */
export interface Overlaps {
  add(rule: MatchRule, value: number): void;
  /** The highest number of an overlapping rule; -Infinity if there is none. */
  highest(rule: MatchRule): number;
}

/** Finds whether any of many rules covers a given one (`covers`). */
export interface Covers {
  add(rule: MatchRule): void;
  covers(rule: MatchRule): boolean;
}

/** Up to this many rules are compared faster than indexed. */
const MAX_LIST = 32;

/** For these rules, as arguments of `add` and `highest`. */
export function overlapsAmong(rules: readonly MatchRule[]): Overlaps {
  return rules.length > MAX_LIST ? new OverlapIndex(sourceLengths(rules)) : new OverlapList();
}

/** For these rules, as arguments of `add` and `covers`. */
export function coversAmong(rules: readonly MatchRule[]): Covers {
  return rules.length > MAX_LIST ? new CoverIndex(sourceLengths(rules)) : new CoverList();
}

class OverlapList implements Overlaps {
  readonly #added: { readonly rule: MatchRule; readonly value: number }[] = [];

  add(rule: MatchRule, value: number): void {
    this.#added.push({ rule, value });
  }

  highest(rule: MatchRule): number {
    let highest = NONE;
    for (const one of this.#added)
      if (one.value > highest && overlapping(one.rule, rule)) highest = one.value;
    return highest;
  }
}

class CoverList implements Covers {
  readonly #added: MatchRule[] = [];

  add(rule: MatchRule): void {
    this.#added.push(rule);
  }

  covers(rule: MatchRule): boolean {
    return this.#added.some((outer) => covers(outer, rule));
  }
}

/** Answers `overlapping` for many rules by look-ups: comparing 10,000 rules with each other would block the edge. */
export class OverlapIndex implements Overlaps {
  readonly #indexes = new Map<string, SourceIndex>();
  readonly #lengths: readonly number[];

  /** `lengths`: of the source networks of all rules that are passed to this index. */
  constructor(lengths: readonly number[]) {
    this.#lengths = lengths;
  }

  add(rule: MatchRule, value: number): void {
    const { protocol, port } = rule;
    const names = ['all', portName(protocol, port)];
    if (protocol !== null) names.push(protocolName(protocol));
    for (const name of names) {
      let index = this.#indexes.get(name);
      if (index === undefined) this.#indexes.set(name, (index = new SourceIndex(this.#lengths)));
      index.add(rule.source, value);
    }
  }

  highest({ protocol, port, source }: MatchRule): number {
    const names =
      protocol === null
        ? ['all']
        : [
            portName(null, null),
            ...(port === null
              ? [protocolName(protocol)]
              : [portName(protocol, null), portName(protocol, port)]),
          ];
    const found = names.map((name) => this.#indexes.get(name)?.highest(source) ?? NONE);
    return Math.max(...found);
  }
}

export class CoverIndex implements Covers {
  readonly #added = new Set<string>();
  readonly #lengths: readonly number[];

  constructor(lengths: readonly number[]) {
    this.#lengths = lengths;
  }

  add({ protocol, port, source }: MatchRule): void {
    this.#added.add(`${portName(protocol, port)} ${sourceName(source)}`);
  }

  covers({ protocol, port, source }: MatchRule): boolean {
    const sources = ['', sourceName(source)];
    if (source?.kind === 'network') {
      const { cidr } = source;
      const wider = this.#lengths.filter((length) => length < cidr.length);
      for (const length of wider) sources.push(networkName(length, bitsOf(cidr, length)));
    }
    const names = [portName(null, null), portName(protocol, null), portName(protocol, port)];
    return names.some((at) => sources.some((name) => this.#added.has(`${at} ${name}`)));
  }
}

/** The distinct lengths of source networks. */
export function sourceLengths(rules: readonly MatchRule[]): number[] {
  const lengths = new Set<number>();
  for (const { source } of rules) {
    if (source?.kind === 'network') lengths.add(source.cidr.length);
  }
  return [...lengths];
}

const NONE = Number.NEGATIVE_INFINITY;

/** Sources of one family, or source sets, which may overlap anything. */
class SourceIndex {
  readonly #lengths: readonly number[];
  #all = NONE;
  #anywhere = NONE;
  /** Networks by length: the added networks, and networks that contain an added one. */
  readonly #networks = new Map<number, Map<bigint, number>>();
  readonly #containing = new Map<number, Map<bigint, number>>();

  constructor(lengths: readonly number[]) {
    this.#lengths = lengths;
  }

  add(source: SourceMatch | null, value: number): void {
    this.#all = Math.max(this.#all, value);
    if (source?.kind !== 'network') {
      this.#anywhere = Math.max(this.#anywhere, value);
      return;
    }
    const { cidr } = source;
    raise(this.#networks, cidr.length, bitsOf(cidr, cidr.length), value);
    for (const length of this.#lengths) {
      if (length <= cidr.length) raise(this.#containing, length, bitsOf(cidr, length), value);
    }
  }

  highest(source: SourceMatch | null): number {
    if (source?.kind !== 'network') return this.#all;
    const { cidr } = source;
    const at = this.#containing.get(cidr.length)?.get(bitsOf(cidr, cidr.length)) ?? NONE;
    let highest = Math.max(this.#anywhere, at);
    for (const [length, networks] of this.#networks) {
      if (length >= cidr.length) continue;
      highest = Math.max(highest, networks.get(bitsOf(cidr, length)) ?? NONE);
    }
    return highest;
  }
}

function raise(
  maps: Map<number, Map<bigint, number>>,
  length: number,
  bits: bigint,
  value: number,
): void {
  let map = maps.get(length);
  if (map === undefined) maps.set(length, (map = new Map()));
  map.set(bits, Math.max(map.get(bits) ?? NONE, value));
}

function bitsOf({ family, value }: Cidr, length: number): bigint {
  return value >> BigInt(BITS[family] - length);
}

function portName(protocol: number | null, port: number | null): string {
  return `${protocol}/${port}`;
}

function protocolName(protocol: number): string {
  return `${protocol}/*`;
}

function sourceName(source: SourceMatch | null): string {
  if (source === null) return '';
  if (source.kind === 'sets') return `${source.inside ? 'in' : 'out'} ${source.names.join()}`;
  return networkName(source.cidr.length, bitsOf(source.cidr, source.cidr.length));
}

function networkName(length: number, bits: bigint): string {
  return `${length} ${bits}`;
}
