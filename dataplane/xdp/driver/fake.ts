import { containsCidr } from '@portcullis/core/net/cidr.ts';
import { FakeCounterDriver } from '../../counters/fake-driver.ts';
import type { EarlyRule, EarlyTarget } from '../compile/early-target.ts';
import type { Attached, EarlyDropDriver, EarlySettings } from './driver.ts';
import { type Flow, markPlaces } from '../flows/places.ts';
import { isAddress } from '../../counters/networks.ts';
import { addressBytes } from '../maps/layout.ts';
import { type Reason } from '../compile/early-target.ts';
import type { SlotCount } from '../maps/map-set.ts';
import type { Struck } from '../compile/early-target.ts';
import { Targets } from '../maps/targets.ts';
import { NO_UNIONS, type UnionTable } from '../compile/unions.ts';
import { type FrameFacts, readFacts } from '../counting/frame-facts.ts';

/** Stands for the kernel in tests: judges frames by what is loaded, as early-drop.bpf.c does. */
export interface FakeEarlyDrop extends EarlyDropDriver {
  /** What stands between it and working. */
  lack: string | null;
  /** The next calls fail like this. */
  fail: Error | null;
  readonly loads: number;
  /** `prepare` waits for it. */
  beforePrepared: () => Promise<void>;
  /** Targets that somebody changed what is loaded of. */
  readonly tampered: Set<string>;
  /** Those that it was made ready for. */
  readonly readyLoads: number;
  /** Flows that it was told of, each time counted. */
  readonly remembered: number;
  /** An earlier agent is there: this judges a frame until the first `enforce`. */
  earlier: ((frame: Buffer) => 'pass' | 'drop') | null;
}

/** `room`: as of KernelDriverOptions. */
export function createFakeEarlyDrop({ room = Infinity } = {}): FakeEarlyDrop {
  return new Fake(room);
}

class Fake implements FakeEarlyDrop {
  lack: string | null = null;
  fail: Error | null = null;
  loads = 0;
  beforePrepared = async (): Promise<void> => {};
  readyLoads = 0;
  readonly tampered = new Set<string>();
  #ready: { readonly targets: readonly EarlyTarget[]; readonly unions: UnionTable } | null = null;
  remembered = 0;
  earlier: ((frame: Buffer) => 'pass' | 'drop') | null = null;
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

  constructor(room: number) {
    this.#all = new Targets(room);
  }

  probe(): string | null {
    return this.lack;
  }

  async prepare(targets: readonly EarlyTarget[], unions: UnionTable): Promise<string | null> {
    await this.beforePrepared();
    this.#ready = { targets, unions };
    return this.lack;
  }

  load(targets: readonly EarlyTarget[], settings: EarlySettings, unions: UnionTable): void {
    this.#unions = unions;
    this.#mayFail();
    this.loads++;
    if (this.#ready?.unions === unions && sameTargets(this.#ready.targets, targets))
      this.readyLoads++;
    this.#ready = null;
    this.#all.replace(targets);
    this.#next = new Map(this.#all.held().map((target) => [target.target, target]));
    this.#settings = settings;
  }

  enforce(): void {
    this.#mayFail();
    this.earlier = null;
    this.#targets.clear();
    for (const [name, target] of this.#next ?? []) this.#targets.set(name, target);
    this.#next = null;
    this.tampered.clear();
  }

  inherits(): boolean {
    return this.earlier !== null;
  }

  change(set: readonly EarlyTarget[], removed: readonly string[]): void {
    this.#mayFail();
    this.#all.change(set, removed);
    this.#targets.clear();
    for (const target of this.#all.held()) this.#targets.set(target.target, target);
  }

  left(): ReadonlyMap<string, EarlyTarget> {
    return this.#all.left;
  }

  again(): readonly EarlyTarget[] {
    return this.#all.again();
  }

  configure(settings: EarlySettings): void {
    this.#mayFail();
    this.#settings = settings;
  }

  attach(ifindex: number): Attached {
    this.#mayFail();
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

  watches(ifindexes: readonly number[]): boolean {
    return JSON.stringify(ifindexes) === JSON.stringify(this.#watched);
  }

  remember(flows: Iterable<Flow>): void {
    for (const flow of flows) {
      this.remembered++;
      const places = markPlaces(flow, 0);
      this.#flows.add(places.flow);
      this.#hosts.add(places.host);
    }
  }

  holds(target: string): boolean {
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

  judge(frame: Buffer, ifindex: number): 'pass' | 'drop' {
    if (this.earlier !== null) return this.earlier(frame);
    if (this.#settings === null) throw new Error('nothing is loaded');
    const facts = readFacts(frame);
    if (facts !== null && !this.#judges(facts, ifindex)) return 'pass';
    const dropped = facts === null ? null : this.#drop(facts, frame);
    this.#counters.count(frame, dropped !== null && isAddress(dropped.cidr));
    return dropped === null ? 'pass' : 'drop';
  }

  /** Whose rules dropped it; null: it passes on. */
  #drop(facts: FrameFacts, frame: Buffer): EarlyTarget | null {
    const target = this.#targetFor(facts);
    const reason = target === null ? 'pass' : verdict(target, facts, this.#unions);
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

  #mayFail(): void {
    if (this.fail !== null) throw this.fail;
  }

  #judges({ tags }: FrameFacts, ifindex: number): boolean {
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
    const places = markPlaces(
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

function verdict(
  { rules, spilled, strucks }: EarlyTarget,
  facts: FrameFacts,
  unions: UnionTable,
): 'pass' | Reason {
  if (strucks.some((one) => strikes(one, facts))) return 'mitigations';
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

function strikes(struck: Struck, { protocol, source, sourcePort }: FrameFacts): boolean {
  if (struck.kind === 'source') {
    return protocol === struck.protocol && containsCidr(struck.source, source);
  }
  const isSpared = struck.safe.some((network) => containsCidr(network, source));
  return protocol === 17 && sourcePort === struck.sourcePort && !isSpared;
}

function matches(
  rule: EarlyRule,
  { protocol, destinationPort, source }: FrameFacts,
  unions: UnionTable,
): boolean {
  if (rule.sets !== null) {
    const number = unions.numbers.get(rule.sets.name);
    if (number === undefined) return false;
    // Sorted, so the last around the source is the longest.
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
