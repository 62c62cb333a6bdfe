import { fits } from '@portcullis/core/filters/evaluate.ts';
import { containsCidr } from '@portcullis/core/net/cidr.ts';
import { FakeCounterDriver } from '../../counters/fake-driver.ts';
import type { EarlyRule, EarlyTarget, Reason, StatelessDrop } from '../compile/early-target.ts';
import type { Attached, EarlyDropDriver, EarlySettings } from './driver.ts';
import { type Flow, markKeys } from '../flows/mark-keys.ts';
import { isAddress } from '../../counters/networks.ts';
import { addressBytes } from '../maps/layout.ts';
import type { SlotCount } from '../maps/map-set.ts';
import { Targets } from '../maps/targets.ts';
import { NO_UNIONS, type UnionTable } from '../compile/unions.ts';
import { type FrameFacts, readFacts } from '../counting/frame-facts.ts';

/** A fake kernel for tests. It evaluates frames as early-drop.bpf.c does. */
export interface FakeEarlyDrop extends EarlyDropDriver {
  /** The answer of `probe`. */
  obstacle: string | null;
  /** Thrown by the next calls. */
  fail: Error | null;
  readonly loads: number;
  /** Awaited by `prepare`. */
  beforePrepared: () => Promise<void>;
  /** Targets whose elements another program changed. */
  readonly tampered: Set<string>;
  /** The number of loads that used what `prepare` made. */
  readonly preparedLoads: number;
  /** The number of flows passed to `remember`. */
  readonly remembered: number;
  /** The programs of an earlier agent: they evaluate frames until the first `enforce`. */
  predecessor: ((frame: Buffer) => 'pass' | 'drop') | null;
}

/** `capacity`: as in KernelDriverOptions. */
export function createFakeEarlyDrop({ capacity = Infinity } = {}): FakeEarlyDrop {
  return new Fake(capacity);
}

class Fake implements FakeEarlyDrop {
  obstacle: string | null = null;
  fail: Error | null = null;
  loads = 0;
  beforePrepared = async (): Promise<void> => {};
  preparedLoads = 0;
  readonly tampered = new Set<string>();
  #prepared: { readonly targets: readonly EarlyTarget[]; readonly unions: UnionTable } | null =
    null;
  remembered = 0;
  predecessor: ((frame: Buffer) => 'pass' | 'drop') | null = null;
  readonly #counters = new FakeCounterDriver();
  readonly #all: Targets;
  #next: Map<string, EarlyTarget> | null = null;
  readonly #targets = new Map<string, EarlyTarget>();
  readonly #links = new Set<number>();
  #watched: number[] = [];
  readonly #flows = new Set<number>();
  readonly #hosts = new Set<number>();
  readonly #counts = new Map<string, SlotCount>();
  #settings: EarlySettings | null = null;
  #unions = NO_UNIONS;

  constructor(capacity: number) {
    this.#all = new Targets(capacity);
  }

  probe(): string | null {
    return this.obstacle;
  }

  async prepare(targets: readonly EarlyTarget[], unions: UnionTable): Promise<string | null> {
    await this.beforePrepared();
    this.#prepared = { targets, unions };
    return this.obstacle;
  }

  load(targets: readonly EarlyTarget[], settings: EarlySettings, unions: UnionTable): void {
    this.#unions = unions;
    this.#throwIfFailing();
    this.loads++;
    if (this.#prepared?.unions === unions && sameTargets(this.#prepared.targets, targets))
      this.preparedLoads++;
    this.#prepared = null;
    this.#all.replace(targets);
    this.#next = new Map(this.#all.loaded().map((target) => [target.target, target]));
    this.#settings = settings;
  }

  enforce(): void {
    this.#throwIfFailing();
    this.predecessor = null;
    this.#targets.clear();
    for (const [name, target] of this.#next ?? []) this.#targets.set(name, target);
    this.#next = null;
    this.tampered.clear();
  }

  hasPredecessor(): boolean {
    return this.predecessor !== null;
  }

  change(set: readonly EarlyTarget[], removed: readonly string[]): void {
    this.#throwIfFailing();
    this.#all.change(set, removed);
    this.#targets.clear();
    for (const target of this.#all.loaded()) this.#targets.set(target.target, target);
  }

  beyondCapacity(): ReadonlyMap<string, EarlyTarget> {
    return this.#all.beyondCapacity;
  }

  readmissible(): readonly EarlyTarget[] {
    return this.#all.readmissible();
  }

  configure(settings: EarlySettings): void {
    this.#throwIfFailing();
    this.#settings = settings;
  }

  attach(ifindex: number): Attached {
    this.#throwIfFailing();
    this.#links.add(ifindex);
    return { mode: 'native', pinned: true, refusal: null };
  }

  attached(ifindex: number): boolean {
    return this.#links.has(ifindex);
  }

  detach(ifindex: number): void {
    this.#links.delete(ifindex);
  }

  devices(): number[] {
    return [...this.#links];
  }

  watch(ifindexes: readonly number[]): number[] {
    this.#watched = [...ifindexes];
    return [];
  }

  watchesExactly(ifindexes: readonly number[]): boolean {
    return JSON.stringify(ifindexes) === JSON.stringify(this.#watched);
  }

  remember(flows: Iterable<Flow>): void {
    for (const flow of flows) {
      this.remembered++;
      const places = markKeys(flow, 0);
      this.#flows.add(places.flow);
      this.#hosts.add(places.host);
    }
  }

  isIntact(target: string): boolean {
    return !this.tampered.has(target);
  }

  counts(): SlotCount[] {
    const all = [...this.#counts.values()];
    this.#counts.clear();
    return all;
  }

  counters(): FakeCounterDriver {
    return this.#counters;
  }

  samples(): [] {
    return [];
  }

  evaluate(frame: Buffer, ifindex: number): 'pass' | 'drop' {
    if (this.predecessor !== null) return this.predecessor(frame);
    if (this.#settings === null) throw new Error('nothing is loaded');
    const facts = readFacts(frame);
    if (facts !== null && !this.#handlesVlan(facts, ifindex)) return 'pass';
    const dropped = facts === null ? null : this.#drop(facts, frame);
    this.#counters.count(frame, dropped !== null && isAddress(dropped.cidr));
    return dropped === null ? 'pass' : 'drop';
  }

  /** Returns the target whose rules drop the frame, or null if it passes. */
  #drop(facts: FrameFacts, frame: Buffer): EarlyTarget | null {
    const target = this.#targetFor(facts);
    const keeps = this.#settings?.keepReplies === true;
    const ruled = target === null ? 'pass' : verdict(target, facts, this.#unions, keeps);
    const reason =
      ruled === 'pass' && keeps && mustGreet(target, facts) ? ('greetings' as const) : ruled;
    if (target === null || reason === 'pass' || this.#mustPass(facts)) return null;
    const key = `${target.target} ${reason}`;
    const { packets = 0, bytes = 0 } = this.#counts.get(key) ?? {};
    this.#counts.set(key, {
      target: target.target,
      reason,
      packets: packets + 1,
      bytes: bytes + frame.length,
    });
    return target;
  }

  close(): void {
    this.#links.clear();
  }

  #throwIfFailing(): void {
    if (this.fail !== null) throw this.fail;
  }

  #handlesVlan({ tags }: FrameFacts, ifindex: number): boolean {
    const [outer = 0, inner = 0] = tags;
    if (tags.length === 0) return true;
    return (this.#settings?.vlans ?? []).some(
      (vlan) => vlan.ifindex === ifindex && vlan.outer === outer && vlan.inner === inner,
    );
  }

  #targetFor({ destination }: FrameFacts): EarlyTarget | null {
    return [...this.#targets.values()]
      .filter(({ cidr }) => containsCidr(cidr, destination))
      .reduce<EarlyTarget | null>(
        (best, one) => (best === null || one.cidr.length > best.cidr.length ? one : best),
        null,
      );
  }

  #mustPass(facts: FrameFacts): boolean {
    const { protocol, icmp, destinationPort, sourcePort, flags } = facts;
    if (icmp !== null && ![0, 8, 128, 129].includes(icmp)) return true;
    const { management, keepReplies, flowsComplete } = this.#settings as EarlySettings;
    const name = protocol === 6 ? 'tcp' : protocol === 17 ? 'udp' : null;
    if (management.some((one) => one.protocol === name && one.port === destinationPort))
      return true;
    if (name === 'udp' && DHCP.includes(`${sourcePort} ${destinationPort}`)) return true;
    if (!keepReplies) return false;
    if (!flowsComplete) return protocol !== 6 || (flags & 0x12) !== 2;
    const places = markKeys(
      {
        family: facts.destination.family,
        protocol,
        local: addressBytes(facts.destination),
        remote: addressBytes(facts.source),
        localPort: destinationPort ?? 0,
        remotePort: sourcePort ?? 0,
      },
      0,
    );
    return this.#hosts.has(places.host) && this.#flows.has(places.flow);
  }
}

const DHCP: readonly string[] = ['67 68', '547 546'];

/** A filter of the port drops the packet, unless its source is validated. */
function mustGreet(target: EarlyTarget | null, facts: FrameFacts): boolean {
  const { protocol, destinationPort, payload } = facts;
  const found = target?.greetedPorts.find(({ port }) => port === destinationPort);
  if (found === undefined || protocol !== 17 || payload === null) return false;
  return !found.greetings.signatures.some((one) => fits(one, payload));
}

function verdict(
  { rules, spilled, statelessDrops }: EarlyTarget,
  facts: FrameFacts,
  unions: UnionTable,
  keepsReplies: boolean,
): 'pass' | Reason {
  if (statelessDrops.some((one) => dropsStatelessly(one, facts, keepsReplies)))
    return 'mitigations';
  if (rules.kind === 'listed') {
    const matched = rules.rules.find((rule) => matches(rule, facts, unions));
    return matched?.verdict ?? rules.fallback ?? 'pass';
  }
  const key = keyOf(facts);
  const source = addressBytes(facts.source);
  for (const [index, form] of rules.forms.entries()) {
    const masked = form.sourceMask === null ? null : and(source, form.sourceMask);
    const found = spilled.find(
      (one) =>
        one.form === index &&
        one.match === (key & form.mask) &&
        (masked === null || one.source?.equals(masked) === true),
    );
    if (found !== undefined) return found.verdict;
  }
  return rules.fallback ?? 'pass';
}

function dropsStatelessly(
  drop: StatelessDrop,
  { protocol, source, sourcePort }: FrameFacts,
  keepsReplies: boolean,
): boolean {
  if (drop.kind === 'source') {
    if (drop.unansweredOnly && !keepsReplies) return false;
    return protocol === drop.protocol && containsCidr(drop.source, source);
  }
  const isSafe = drop.safe.some((network) => containsCidr(network, source));
  return protocol === 17 && sourcePort === drop.sourcePort && !isSafe;
}

function matches(
  rule: EarlyRule,
  { protocol, destinationPort, source }: FrameFacts,
  unions: UnionTable,
): boolean {
  if (rule.sets !== null) {
    const number = unions.numbers.get(rule.sets.name);
    if (number === undefined) return false;
    // The networks are sorted, so the last match is the longest.
    const around = unions.networks[source.family].findLast(({ cidr }) =>
      containsCidr(cidr, source),
    );
    const inside = (((around?.bits ?? 0n) >> BigInt(number)) & 1n) === 1n;
    return inside === rule.sets.inside;
  }
  if (rule.protocol !== null && rule.protocol !== protocol) return false;
  if (rule.port !== null && rule.port !== destinationPort) return false;
  return rule.source === null || containsCidr(rule.source, source);
}

function keyOf({ protocol, destinationPort }: FrameFacts): number {
  return protocol * 65_536 + (destinationPort === null ? 0 : 2 ** 24 + destinationPort);
}

function and(a: Buffer, b: Buffer): Buffer {
  return Buffer.from(a.map((byte, index) => byte & (b[index] ?? 0)));
}

function sameTargets(a: readonly EarlyTarget[], b: readonly EarlyTarget[]): boolean {
  const some = new Set(a);
  return a.length === b.length && b.every((target) => some.has(target));
}
