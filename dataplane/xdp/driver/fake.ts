import { parseAddress } from '@portcullis/core/net/address.ts';
import { cidrOfAddress, containsCidr } from '@portcullis/core/net/cidr.ts';
import { FakeCounterDriver } from '../../counters/fake-driver.ts';
import type { EarlyTarget } from '../compile/early-target.ts';
import type { Hook } from '../devices/links.ts';
import type {
  AnswerDevice,
  Attached,
  EarlyDropDriver,
  EarlySettings,
  ForwardPort,
} from './driver.ts';
import type { Flow } from '../flows/mark-keys.ts';
import type { SlotCount } from '../maps/map-set.ts';
import { Targets } from '../maps/targets.ts';
import type { UnionTable } from '../compile/unions.ts';

/** A stub of the kernel for tests of what loads and attaches the early drop. The suites run on the kernel alone. */
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
  /** The programs of an earlier agent: they evaluate packets until the first `enforce`. */
  predecessor: (() => 'pass' | 'drop') | null;
  /** The last argument of `forward`. */
  readonly forwarding: readonly ForwardPort[] | null;
  /** Whether a UDP datagram to an IPv4 address passes, by ports of listed rules and remembered flows alone. */
  passes(to: string, port: number): boolean;
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
  predecessor: (() => 'pass' | 'drop') | null = null;
  forwarding: readonly ForwardPort[] | null = null;
  readonly #answering = new Map<number, Hook>();
  readonly #counters = new FakeCounterDriver();
  readonly #all: Targets;
  #next: Map<string, EarlyTarget> | null = null;
  readonly #targets = new Map<string, EarlyTarget>();
  readonly #links = new Set<number>();
  #watched: number[] = [];
  readonly #flows = new Set<string>();
  readonly #counts = new Map<string, SlotCount>();
  #settings: EarlySettings | null = null;

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

  forward(ports: readonly ForwardPort[] | null): void {
    this.#throwIfFailing();
    this.forwarding = ports;
  }

  forwardAnswers(devices: readonly AnswerDevice[]): void {
    this.#throwIfFailing();
    this.#answering.clear();
    for (const { ifindex, hooks } of devices) this.#answering.set(ifindex, hooks[0] ?? 'tc');
  }

  answering(): ReadonlyMap<number, Hook> {
    return this.#answering;
  }

  forwardObstacle(): null {
    return null;
  }

  forwarded(): number {
    return 0;
  }

  remember(flows: Iterable<Flow>): void {
    for (const { local, localPort } of flows) {
      this.remembered++;
      this.#flows.add(`${local.join('.')} ${localPort}`);
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

  evaluate(): 'pass' {
    throw new Error('the fake reads no frames; the kernel does');
  }

  forwardedFrame(): null {
    throw new Error('the fake reads no frames; the kernel does');
  }

  forwardedAnswer(): null {
    throw new Error('the fake reads no frames; the kernel does');
  }

  leave(): void {
    throw new Error('the fake reads no frames; the kernel does');
  }

  passes(to: string, port: number): boolean {
    if (this.predecessor !== null) return this.predecessor() === 'pass';
    const target = this.#targetFor(to);
    if (target === null || this.#isReply(to, port)) return true;
    const { rules } = target;
    if (rules.kind === 'spilled') throw new Error('the fake reads lists of rules alone');
    const matched = rules.rules.find((rule) => rule.port === null || rule.port === port);
    const reason = matched?.verdict ?? rules.fallback ?? 'pass';
    if (reason === 'pass') return true;
    const key = `${target.target} ${reason}`;
    const { packets = 0, bytes = 0 } = this.#counts.get(key) ?? {};
    const count = { packets: packets + 1, bytes: bytes + DATAGRAM_BYTES };
    this.#counts.set(key, { target: target.target, reason, ...count });
    return false;
  }

  close(): void {
    this.#links.clear();
  }

  #throwIfFailing(): void {
    if (this.fail !== null) throw this.fail;
  }

  #targetFor(to: string): EarlyTarget | null {
    const address = parseAddress(to);
    if (!address.ok) return null;
    return [...this.#targets.values()]
      .filter(({ cidr }) => containsCidr(cidr, cidrOfAddress(address.value)))
      .reduce<EarlyTarget | null>(
        (best, one) => (best === null || one.cidr.length > best.cidr.length ? one : best),
        null,
      );
  }

  #isReply(to: string, port: number): boolean {
    const { keepReplies = false, flowsComplete = false } = this.#settings ?? {};
    return keepReplies && (!flowsComplete || this.#flows.has(`${to} ${port}`));
  }
}

const DATAGRAM_BYTES = 60;

function sameTargets(a: readonly EarlyTarget[], b: readonly EarlyTarget[]): boolean {
  const some = new Set(a);
  return a.length === b.length && b.every((target) => some.has(target));
}
