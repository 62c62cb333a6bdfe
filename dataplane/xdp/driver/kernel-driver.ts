import { join } from 'node:path';
import { testRun, updateElement } from '../../kernel/bpf/bpf.ts';
import { type BpfArtifact, readArtifact } from '../../kernel/bpf/bpf-artifact.ts';
import { ProgramRefused } from '../../kernel/bpf/bpf-program.ts';
import type { CounterDriver } from '../../counters/driver.ts';
import { mapMemory } from '../../kernel/bpf/memory.ts';
import { NativeUnavailable, SystemError } from '../../kernel/native.ts';
import { networkFrom } from '../../compile/match.ts';
import { RingBuffer } from '../../kernel/bpf/ring-buffer.ts';
import type { EarlyTarget } from '../compile/early-target.ts';
import { XdpCounters } from '../counting/counter-driver.ts';
import { CounterMaps } from '../counting/counter-maps.ts';
import type { Attached, EarlyDropDriver, EarlySettings } from './driver.ts';
import { AllDrops } from '../counting/drop-deltas.ts';
import { type Flow, markNow, markPlaces } from '../flows/places.ts';
import { Egress, type EgressWay } from '../devices/egress.ts';
import { LAYOUT } from '../maps/layout.ts';
import { Links } from '../devices/links.ts';
import {
  MapSet,
  type MapSetParts,
  OutOfRoom,
  type SharedMaps,
  type SlotCount,
} from '../maps/map-set.ts';
import { Marks } from '../flows/marks.ts';
import { Pins } from '../devices/pins.ts';
import { readSample, type Sample } from '../counting/sample.ts';
import { writeSettings } from '../maps/settings.ts';
import { narrowFirst, Targets } from '../maps/targets.ts';
import { NO_UNIONS, type UnionTable } from '../compile/unions.ts';

const ARTIFACT = join(import.meta.dirname, '..', 'bpf', 'early-drop.bpf.json');
const XDP_DROP = 1;
const SAMPLES_AT_ONCE = 500;

export interface KernelDriverOptions {
  /** A folder in a bpffs; what is pinned there outlives the process. */
  readonly pins: string;
  /** How to see what leaves, best first; for tests of what older kernels can. */
  readonly egress?: readonly EgressWay[];
  /** How many targets may be held, and how many look-ups for them; else there is what the kernel has memory for. */
  readonly room?: number;
}

/** When the kernel is asked again for the memory that it refused. */
const RETRY_MS = 60_000;

function wideFirst(a: string, b: string): number {
  return networkFrom(a).length - networkFrom(b).length;
}

/** The programs of early-drop.bpf.c in the kernel that this process runs on. */
export function createKernelDriver(options: KernelDriverOptions): EarlyDropDriver {
  return new KernelDriver(options);
}

interface Opened {
  readonly links: Links;
  readonly egress: Egress;
  readonly marks: Marks;
  readonly counting: CounterMaps;
  readonly counters: XdpCounters;
  readonly shared: SharedMaps;
}

/** What judged before, until nothing does any more. */
interface Retired {
  readonly set: MapSet | null;
  readonly ring: RingBuffer | null;
}

class KernelDriver implements EarlyDropDriver {
  readonly #options: KernelDriverOptions;
  readonly #artifact: BpfArtifact = readArtifact(ARTIFACT);
  #opened: Opened | null = null;
  #set: MapSet | null = null;
  /** Made for the next `load`, if that is of the same. */
  #ahead: { readonly set: MapSet; readonly unions: UnionTable } | null = null;
  /** Loaded, and not enforced yet: this judged before. */
  #retired: Retired | null = null;
  #ring: RingBuffer | null = null;
  /** Of what judged before, and not told yet. */
  readonly #untold: SlotCount[] = [];
  #settings: EarlySettings | null = null;
  #unions = NO_UNIONS;
  readonly #targets: Targets;
  #refusedMs = -Infinity;
  readonly #drops = new AllDrops();

  constructor(options: KernelDriverOptions) {
    this.#options = options;
    this.#targets = new Targets(options.room ?? Infinity);
  }

  probe(): string | null {
    try {
      MapSet.load(this.#parts([], NO_UNIONS)).close();
      return null;
    } catch (error) {
      return whyNotLoaded(error);
    }
  }

  async prepare(targets: readonly EarlyTarget[], unions: UnionTable): Promise<string | null> {
    this.#ahead?.set.close();
    this.#ahead = null;
    try {
      const held = this.#targets.heldOf(targets);
      this.#ahead = { set: await MapSet.prepare(this.#parts(held, unions)), unions };
      return null;
    } catch {
      // It may be that these are too many.
      return this.probe();
    }
  }

  load(targets: readonly EarlyTarget[], settings: EarlySettings, unions: UnionTable): void {
    this.#open();
    this.#targets.replace(targets);
    this.#exchange(this.#takeAhead(this.#targets.held(), unions) ?? this.#make(unions), settings);
    this.#unions = unions;
  }

  enforce(): void {
    const { links } = this.#open();
    const { earlyDrop } = this.#loaded().programs;
    for (const ifindex of links.devices()) links.attach(ifindex, earlyDrop);
    if (this.#retired !== null) {
      this.#untold.push(...(this.#retired.set?.counts() ?? []));
      this.#close(this.#retired);
    }
    this.#retired = null;
    this.configure(this.#settings as EarlySettings);
  }

  inherits(): boolean {
    const { links, marks } = this.#open();
    return this.#set === null && marks.inherited && links.devices().length > 0;
  }

  change(set: readonly EarlyTarget[], removed: readonly string[]): void {
    const maps = this.#loaded();
    const prefixes = this.#hasPrefixes();
    this.#targets.change(set, removed);
    // Before a first prefix is there nobody looks for one, and it must be looked for as soon as it is.
    if (this.#hasPrefixes() !== prefixes) this.configure(this.#settings as EarlySettings);
    // Between two steps nothing may be judged by what stands around its rules of before and of after.
    let mayGrow = !this.#isRefused;
    for (const target of set.toSorted(narrowFirst)) {
      if (this.#targets.left.has(target.target)) continue;
      try {
        maps.set(target);
      } catch (error) {
        if (!(error instanceof OutOfRoom)) throw error;
        if (mayGrow && this.#grow()) return;
        mayGrow = false;
        this.#targets.leave(target);
      }
    }
    const gone = [...removed, ...[...this.#targets.left.keys()].filter((name) => maps.has(name))];
    for (const name of gone.toSorted(wideFirst)) maps.remove(name);
  }

  left(): ReadonlyMap<string, EarlyTarget> {
    return this.#targets.left;
  }

  again(): readonly EarlyTarget[] {
    return this.#isRefused ? [] : this.#targets.again();
  }

  configure(settings: EarlySettings): void {
    const marksAll = settings.marksAll || this.#retired !== null;
    const { seed } = this.#open().marks;
    writeSettings(this.#loaded(), { ...settings, marksAll }, this.#targets, seed);
    this.#settings = settings;
  }

  attach(ifindex: number): Attached {
    const { links } = this.#open();
    try {
      if (links.isDead(ifindex)) links.detach(ifindex);
      const program = this.#loaded().programs.earlyDrop;
      const { mode, pinned, refusal } = links.attach(ifindex, program);
      return { mode, pinned, refusal };
    } catch (error) {
      if (!(error instanceof SystemError)) throw error;
      return { mode: 'none', reason: whyNotAttached(error) };
    }
  }

  attached(ifindex: number): boolean {
    const { links } = this.#open();
    return links.has(ifindex) && !links.isDead(ifindex);
  }

  detach(ifindex: number): void {
    this.#open().links.detach(ifindex);
  }

  devices(): number[] {
    return this.#open().links.devices();
  }

  watch(ifindexes: readonly number[]): number[] {
    const { egress } = this.#open();
    if (ifindexes.length > 0) return egress.watch(ifindexes, this.#loaded().programs.rememberFlow);
    egress.watchNothing();
    return [];
  }

  watches(ifindexes: readonly number[]): boolean {
    return this.#open().egress.isOn(ifindexes);
  }

  remember(flows: Iterable<Flow>): void {
    const { maps, seed } = this.#open().marks;
    const { flow_marks, host_marks } = maps;
    const now = Buffer.alloc(4);
    now.writeUInt32LE(markNow(), 0);
    const key = Buffer.alloc(4);
    // Byte by byte in the map itself: the program marks hosts at the same time.
    const hosts = mapMemory(host_marks, { offset: 0, length: LAYOUT.HOST_MARKS, writable: true });
    for (const flow of flows) {
      const places = markPlaces(flow, seed);
      key.writeUInt32LE(places.flow, 0);
      updateElement(flow_marks, key, now);
      hosts.view[places.host] = 1;
    }
    hosts.unmap();
  }

  holds(target: string): boolean {
    return this.#set?.holds(target) ?? true;
  }

  counts(): SlotCount[] {
    const added = this.#set?.counts() ?? [];
    return [...this.#untold.splice(0), ...added];
  }

  counters(): CounterDriver {
    return this.#open().counters;
  }

  samples(): (Sample & { readonly target: string })[] {
    const records = this.#ring?.read(SAMPLES_AT_ONCE) ?? [];
    return records.flatMap((record) => {
      const sample = readSample(record);
      const target = sample === null ? null : this.#loaded().targetOf(sample.slot);
      return sample === null || target === null ? [] : [{ ...sample, target }];
    });
  }

  judge(frame: Buffer, ifindex: number): 'pass' | 'drop' {
    const program = this.#loaded().programs.earlyDrop;
    const { returned } = testRun({ program, packet: frame, repeat: 1, ingress: ifindex });
    return returned === XDP_DROP ? 'drop' : 'pass';
  }

  close(): void {
    for (const one of [this.#retired, { set: this.#set, ring: this.#ring }]) this.#close(one);
    this.#ahead?.set.close();
    this.#ahead = null;
    this.#opened?.links.close();
    this.#opened?.egress.close();
    this.#opened?.marks.close();
    this.#opened?.counting.close();
    this.#opened = null;
    this.#retired = null;
    this.#set = null;
    this.#ring = null;
  }

  get #isRefused(): boolean {
    return performance.now() - this.#refusedMs < RETRY_MS;
  }

  /** A set of what there is room for: of half as many, and so on, where the kernel has no memory. */
  #make(unions: UnionTable): MapSet {
    for (;;) {
      try {
        return MapSet.load(this.#parts(this.#targets.held(), unions));
      } catch (error) {
        if (!isNoMemory(error) || !this.#targets.halve()) throw error;
        this.#refusedMs = performance.now();
      }
    }
  }

  /** A larger set in place of what judges. False: the kernel has no memory for it. */
  #grow(): boolean {
    try {
      this.#exchange(
        MapSet.load(this.#parts(this.#targets.held(), this.#unions)),
        this.#settings as EarlySettings,
      );
    } catch (error) {
      if (!isNoMemory(error)) throw error;
      this.#refusedMs = performance.now();
      return false;
    }
    this.enforce();
    return true;
  }

  /** For what judges, as soon as it is enforced. */
  #exchange(next: MapSet, settings: EarlySettings): void {
    const { egress, marks } = this.#open();
    try {
      marks.keep();
      // Until it is enforced, what is open to it may be closed to what judges still, and the other way round.
      writeSettings(next, { ...settings, marksAll: true }, this.#targets, marks.seed);
      egress.update(next.programs.rememberFlow);
    } catch (error) {
      next.close();
      throw error;
    }
    if (this.#retired === null) this.#retired = { set: this.#set, ring: this.#ring };
    else this.#close({ set: this.#set, ring: this.#ring });
    this.#set = next;
    this.#drops.add(next);
    this.#settings = settings;
    this.#ring = new RingBuffer(next.map('samples'), next.ringBytes);
  }

  #close(retired: Retired | null): void {
    retired?.ring?.close();
    if (retired === null || retired.set === null) return;
    this.#drops.end(retired.set);
    retired.set.close();
  }

  #parts(targets: readonly EarlyTarget[], unions: UnionTable): MapSetParts {
    return { artifact: this.#artifact, shared: this.#open().shared, targets, unions };
  }

  #takeAhead(targets: readonly EarlyTarget[], unions: UnionTable): MapSet | null {
    const ahead = this.#ahead;
    this.#ahead = null;
    if (ahead === null) return null;
    if (ahead.unions === unions && ahead.set.isOf(targets)) return ahead.set;
    ahead.set.close();
    return null;
  }

  #loaded(): MapSet {
    if (this.#set === null) throw new Error('nothing is loaded');
    return this.#set;
  }

  #open(): Opened {
    if (this.#opened === null) {
      const pins = Pins.open(this.#options.pins);
      const marks = Marks.open(pins, this.#artifact.maps);
      const egress = new Egress(pins, this.#options.egress);
      const counting = new CounterMaps(this.#artifact.maps);
      const counters = new XdpCounters(counting, this.#drops);
      const shared = { ...marks.maps, ...counting.maps };
      this.#opened = { links: new Links(pins), egress, marks, counting, counters, shared };
    }
    return this.#opened;
  }

  #hasPrefixes(): string {
    return `${this.#targets.hasPrefixes(4)} ${this.#targets.hasPrefixes(6)}`;
  }
}

/** EPERM: of kernels that count maps as locked memory. */
function isNoMemory(error: unknown): boolean {
  if (error instanceof ProgramRefused) return error.code === 'ENOMEM';
  return (
    error instanceof SystemError && ['ENOMEM', 'E2BIG', 'ENOSPC', 'EPERM'].includes(error.code)
  );
}

function whyNotLoaded(error: unknown): string {
  if (error instanceof NativeUnavailable) return error.message;
  if (error instanceof SystemError && error.code === 'EPERM') {
    return 'early drop needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON';
  }
  return `this kernel does not take the early drop: ${error instanceof Error ? error.message : 'unknown'}`;
}

function whyNotAttached({ code }: SystemError): string {
  if (code === 'EBUSY' || code === 'EEXIST') return 'another XDP program is on this device';
  if (code === 'ENODEV') return 'there is no such device';
  return `the kernel does not take an XDP program on this device (${code})`;
}
