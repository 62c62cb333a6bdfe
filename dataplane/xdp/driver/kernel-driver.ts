import { join } from 'node:path';
import { type Descriptor, testRun, updateElement } from '../../kernel/bpf/bpf.ts';
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
import type {
  AnswerDevice,
  Attached,
  EarlyDropDriver,
  EarlySettings,
  ForwardPort,
} from './driver.ts';
import { AnswerLinks } from '../forwarding/answer-links.ts';
import { ForwardMaps } from '../forwarding/forward-maps.ts';
import { AllDrops } from '../counting/drop-deltas.ts';
import { type Flow, markNow, markKeys } from '../flows/mark-keys.ts';
import { Egress } from '../devices/egress.ts';
import { LAYOUT } from '../maps/layout.ts';
import { type Hook, HOOKS, type LinkOptions, Links, type ProgramFor } from '../devices/links.ts';
import {
  MapSet,
  type MapSetParts,
  AtCapacity,
  type SharedMaps,
  type SlotCount,
} from '../maps/map-set.ts';
import type { ProgramName } from '../maps/programs.ts';
import { Marks } from '../flows/marks.ts';
import { Pins } from '../devices/pins.ts';
import { readSample, type Sample } from '../counting/drop-sample.ts';
import { writeSettings } from '../maps/settings.ts';
import { narrowFirst, Targets } from '../maps/targets.ts';
import { NO_UNIONS, type UnionTable } from '../compile/unions.ts';

const ARTIFACT = join(import.meta.dirname, '..', 'bpf', 'early-drop.bpf.json');
/** XDP_DROP and TC_ACT_SHOT. */
const DROPS: Readonly<Record<Hook, number>> = { native: 1, tc: 2 };
/** XDP_REDIRECT and TC_ACT_REDIRECT. */
const REDIRECTS: Readonly<Record<Hook, number>> = { native: 4, tc: 7 };
const ANSWER_PROGRAMS = { native: 'nativeAnswer', tc: 'tcAnswer' } as const;
/** The kernel runs no program on a shorter frame as at tc ingress: Ethernet and IPv4 headers. */
const TC_FRAME_BYTES = 34;
const SAMPLES_AT_ONCE = 500;

export interface KernelDriverOptions extends LinkOptions {
  /** A folder in a bpffs. What is pinned there outlives the process. */
  readonly pins: string;
  /** The most targets, and the most elements of each map. The default is what the kernel has memory for. */
  readonly capacity?: number;
  /** The number of answered flows to have places for. */
  readonly flows?: number;
}

const FLOWS = 4_096;

/** The time until memory that the kernel refused is requested again. */
const RETRY_MS = 60_000;

function wideFirst(a: string, b: string): number {
  return networkFrom(a).length - networkFrom(b).length;
}

/** The programs of early-drop.bpf.c in the running kernel. */
export function createKernelDriver(options: KernelDriverOptions): EarlyDropDriver {
  return new KernelDriver(options);
}

interface Opened {
  readonly links: Links;
  readonly egress: Egress;
  readonly answers: AnswerLinks;
  readonly marks: Marks;
  readonly counting: CounterMaps;
  readonly counters: XdpCounters;
  readonly forwarding: ForwardMaps;
  readonly shared: SharedMaps;
}

/** The maps that were in force before the last load. */
interface PreviousSet {
  readonly set: MapSet | null;
  readonly ring: RingBuffer | null;
}

class KernelDriver implements EarlyDropDriver {
  readonly #options: KernelDriverOptions;
  readonly #artifact: BpfArtifact = readArtifact(ARTIFACT);
  #opened: Opened | null = null;
  #set: MapSet | null = null;
  /** Prepared for the next `load`, and used if that has the same targets. */
  #prepared: { readonly set: MapSet; readonly unions: UnionTable } | null = null;
  /** Set between `load` and `enforce`. */
  #previous: PreviousSet | null = null;
  #ring: RingBuffer | null = null;
  /** Drops of previous sets that were not reported yet. */
  readonly #unreported: SlotCount[] = [];
  #settings: EarlySettings | null = null;
  #unions = NO_UNIONS;
  readonly #targets: Targets;
  #refusedMs = -Infinity;
  readonly #drops = new AllDrops();

  constructor(options: KernelDriverOptions) {
    this.#options = options;
    this.#targets = new Targets(options.capacity ?? Infinity);
  }

  probe(): string | null {
    try {
      MapSet.load(this.#parts([], NO_UNIONS)).close();
      return null;
    } catch (error) {
      return loadFailureReason(error);
    }
  }

  async prepare(targets: readonly EarlyTarget[], unions: UnionTable): Promise<string | null> {
    this.#prepared?.set.close();
    this.#prepared = null;
    try {
      const loadable = this.#targets.loadable(targets);
      this.#prepared = { set: await MapSet.prepare(this.#parts(loadable, unions)), unions };
      return null;
    } catch {
      // The targets may be too many for the kernel's memory.
      return this.probe();
    }
  }

  load(targets: readonly EarlyTarget[], settings: EarlySettings, unions: UnionTable): void {
    this.#open();
    this.#targets.replace(targets);
    this.#replaceSet(
      this.#takePrepared(this.#targets.loaded(), unions) ?? this.#make(unions),
      settings,
    );
    this.#unions = unions;
  }

  enforce(): void {
    const { links } = this.#open();
    links.update(this.#programFor);
    if (this.#previous !== null) {
      this.#unreported.push(...(this.#previous.set?.counts() ?? []));
      this.#close(this.#previous);
    }
    this.#previous = null;
    this.configure(this.#settings as EarlySettings);
  }

  hasPredecessor(): boolean {
    const { links, marks } = this.#open();
    return this.#set === null && marks.isInherited && links.devices().length > 0;
  }

  change(set: readonly EarlyTarget[], removed: readonly string[]): void {
    const maps = this.#loaded();
    const prefixes = this.#hasPrefixes();
    this.#targets.change(set, removed);
    // The programs search prefixes only if there are some, so this must change before the targets do.
    if (this.#hasPrefixes() !== prefixes) this.configure(this.#settings as EarlySettings);
    // Removes wide prefixes last and adds narrow ones first, so that no packet is evaluated by a prefix between two
    // steps.
    let mayGrow = !this.#isMemoryRefused;
    for (const target of set.toSorted(narrowFirst)) {
      if (this.#targets.beyondCapacity.has(target.target)) continue;
      try {
        maps.set(target);
      } catch (error) {
        if (!(error instanceof AtCapacity)) throw error;
        if (mayGrow && this.#grow()) return;
        mayGrow = false;
        this.#targets.exclude(target);
      }
    }
    const gone = [
      ...removed,
      ...[...this.#targets.beyondCapacity.keys()].filter((name) => maps.has(name)),
    ];
    for (const name of gone.toSorted(wideFirst)) maps.remove(name);
  }

  beyondCapacity(): ReadonlyMap<string, EarlyTarget> {
    return this.#targets.beyondCapacity;
  }

  readmissible(): readonly EarlyTarget[] {
    return this.#isMemoryRefused ? [] : this.#targets.readmissible();
  }

  configure(settings: EarlySettings): void {
    const marksAll = settings.marksAll || this.#previous !== null;
    const { seed } = this.#open().marks;
    writeSettings(this.#loaded(), { ...settings, marksAll }, this.#targets, seed);
    this.#settings = settings;
  }

  attach(ifindex: number): Attached {
    const { links, answers } = this.#open();
    answers.detach(ifindex);
    try {
      if (links.isDead(ifindex)) links.detach(ifindex);
      const { mode, program, refusal } = links.attach(ifindex, this.#programFor);
      return { mode, pinned: program.pinned, refusal };
    } catch (error) {
      if (!(error instanceof SystemError)) throw error;
      return { mode: 'none', reason: attachFailureReason(error) };
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
    if (ifindexes.length > 0) return egress.watch(ifindexes, this.#loaded().programs.get('egress'));
    egress.watchNothing();
    return [];
  }

  watchesExactly(ifindexes: readonly number[]): boolean {
    return this.#open().egress.isOn(ifindexes);
  }

  forward(ports: readonly ForwardPort[] | null): void {
    this.#open().forwarding.forward(ports);
  }

  forwardAnswers(devices: readonly AnswerDevice[]): void {
    const { answers, forwarding } = this.#open();
    const [attached, answering] = [answers.hooks(), forwarding.answering()];
    const used = devices.filter(({ ifindex }) => attached.has(ifindex) || answering.has(ifindex));
    answers.attach(used, this.#answerProgramFor);
  }

  answering(): ReadonlyMap<number, Hook> {
    return this.#open().answers.hooks();
  }

  forwardObstacle(): string | null {
    const refusal = this.#set?.programs.forwardRefusal ?? null;
    return refusal === null ? null : `this kernel does not take the program: ${refusal}`;
  }

  forwarded(): number {
    return this.#open().forwarding.forwarded();
  }

  remember(flows: Iterable<Flow>): void {
    const { maps, seed } = this.#open().marks;
    const { flow_marks, host_marks } = maps;
    const now = Buffer.alloc(4);
    now.writeUInt32LE(markNow(), 0);
    const key = Buffer.alloc(4);
    // Writes single bytes into mapped memory, because the programs mark hosts at the same time.
    const hosts = mapMemory(host_marks, { offset: 0, length: LAYOUT.HOST_MARKS, writable: true });
    for (const flow of flows) {
      const places = markKeys(flow, seed);
      key.writeUInt32LE(places.flow, 0);
      updateElement(flow_marks, key, now);
      hosts.view[places.host] = 1;
    }
    hosts.unmap();
  }

  isIntact(target: string): boolean {
    return this.#set?.isIntact(target) ?? true;
  }

  counts(): SlotCount[] {
    const added = this.#set?.counts() ?? [];
    return [...this.#unreported.splice(0), ...added];
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

  evaluate(frame: Buffer, ifindex: number): 'pass' | 'drop' {
    const hook = this.#hookOf(ifindex);
    if (hook === 'tc' && frame.length < TC_FRAME_BYTES) return 'pass';
    const program = this.#programFor(hook);
    const { returned } = testRun({ program, hook, packet: frame, repeat: 1, ingress: ifindex });
    return returned === DROPS[hook] ? 'drop' : 'pass';
  }

  forwardedFrame(frame: Buffer, ifindex: number): Buffer | null {
    const hook = this.#hookOf(ifindex);
    return redirected(this.#programFor(hook), hook, frame, ifindex);
  }

  forwardedAnswer(frame: Buffer, ifindex: number, hook: Hook): Buffer | null {
    return redirected(this.#answerProgramFor(hook), hook, frame, ifindex);
  }

  leave(frame: Buffer, ifindex: number, entered = 0): void {
    const program = this.#loaded().programs.get('egress');
    testRun({ program, hook: 'tc', packet: frame, repeat: 1, ingress: ifindex, entered });
  }

  close(): void {
    for (const one of [this.#previous, { set: this.#set, ring: this.#ring }]) this.#close(one);
    this.#prepared?.set.close();
    this.#prepared = null;
    this.#opened?.links.close();
    this.#opened?.egress.close();
    this.#opened?.answers.close();
    this.#opened?.marks.close();
    this.#opened?.counting.close();
    this.#opened?.forwarding.close();
    this.#opened = null;
    this.#previous = null;
    this.#set = null;
    this.#ring = null;
  }

  #hookOf(ifindex: number): Hook {
    const { hooks = HOOKS } = this.#options;
    return this.#open().links.modeOf(ifindex) ?? hooks[0] ?? 'native';
  }

  get #isMemoryRefused(): boolean {
    return performance.now() - this.#refusedMs < RETRY_MS;
  }

  /** Makes a set of all targets, or of half as many each time the kernel has no memory. */
  #make(unions: UnionTable): MapSet {
    for (;;) {
      try {
        return MapSet.load(this.#parts(this.#targets.loaded(), unions));
      } catch (error) {
        if (!isNoMemory(error) || !this.#targets.halve()) throw error;
        this.#refusedMs = performance.now();
      }
    }
  }

  /** Replaces the set in force by a larger one. Returns false if the kernel has no memory for it. */
  #grow(): boolean {
    try {
      this.#replaceSet(
        MapSet.load(this.#parts(this.#targets.loaded(), this.#unions)),
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

  /** The new set takes effect with `enforce`. */
  #replaceSet(next: MapSet, settings: EarlySettings): void {
    const { egress, answers, marks } = this.#open();
    try {
      marks.pin();
      // Until then, a port that is open in one set may be closed in the other.
      writeSettings(next, { ...settings, marksAll: true }, this.#targets, marks.seed);
      egress.update(next.programs.get('egress'));
      answers.update((hook) => next.programs.get(ANSWER_PROGRAMS[hook]));
    } catch (error) {
      next.close();
      throw error;
    }
    if (this.#previous === null) this.#previous = { set: this.#set, ring: this.#ring };
    else this.#close({ set: this.#set, ring: this.#ring });
    this.#set = next;
    this.#drops.add(next);
    this.#settings = settings;
    this.#ring = new RingBuffer(next.map('samples'), next.ringBytes);
  }

  #close(previous: PreviousSet | null): void {
    previous?.ring?.close();
    if (previous === null || previous.set === null) return;
    this.#drops.remove(previous.set);
    previous.set.close();
  }

  #parts(targets: readonly EarlyTarget[], unions: UnionTable): MapSetParts {
    const { links, shared } = this.#open();
    const { hooks = HOOKS } = this.#options;
    const used = hooks.filter((hook) => hook === hooks[0] || links.uses(hook));
    const programs: ProgramName[] = [...used, 'egress'];
    return { artifact: this.#artifact, shared, targets, unions, programs };
  }

  #takePrepared(targets: readonly EarlyTarget[], unions: UnionTable): MapSet | null {
    const prepared = this.#prepared;
    this.#prepared = null;
    if (prepared === null) return null;
    if (prepared.unions === unions && prepared.set.isMadeOf(targets)) return prepared.set;
    prepared.set.close();
    return null;
  }

  readonly #programFor: ProgramFor = (hook) => this.#loaded().programs.get(hook);
  readonly #answerProgramFor: ProgramFor = (hook) =>
    this.#loaded().programs.get(ANSWER_PROGRAMS[hook]);

  #loaded(): MapSet {
    if (this.#set === null) throw new Error('nothing is loaded');
    return this.#set;
  }

  #open(): Opened {
    if (this.#opened === null) {
      const pins = Pins.open(this.#options.pins);
      const marks = Marks.open(pins, this.#artifact.maps);
      const egress = new Egress(pins, this.#options.tc);
      const links = new Links(pins, this.#options);
      const answers = new AnswerLinks(pins);
      const counting = new CounterMaps(this.#artifact.maps);
      const counters = new XdpCounters(counting, this.#drops);
      const forwarding = new ForwardMaps(this.#artifact.maps, this.#options.flows ?? FLOWS);
      const shared = { ...marks.maps, ...counting.maps, ...forwarding.maps };
      this.#opened = { links, egress, answers, marks, counting, counters, forwarding, shared };
    }
    return this.#opened;
  }

  #hasPrefixes(): string {
    return `${this.#targets.hasPrefixes(4)} ${this.#targets.hasPrefixes(6)}`;
  }
}

/** The frame as the program redirects it, or null. */
function redirected(
  program: Descriptor,
  hook: Hook,
  packet: Buffer,
  ingress: number,
): Buffer | null {
  const result = Buffer.alloc(packet.length);
  const run = testRun({ program, hook, packet, repeat: 1, ingress, result });
  return run.returned === REDIRECTS[hook] ? result.subarray(0, run.length) : null;
}

/** Kernels that count maps as locked memory return EPERM. */
function isNoMemory(error: unknown): boolean {
  if (error instanceof ProgramRefused) return error.code === 'ENOMEM';
  return (
    error instanceof SystemError && ['ENOMEM', 'E2BIG', 'ENOSPC', 'EPERM'].includes(error.code)
  );
}

function loadFailureReason(error: unknown): string {
  if (error instanceof NativeUnavailable) return error.message;
  if (error instanceof SystemError && error.code === 'EPERM') {
    return 'early drop needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON';
  }
  return `this kernel does not take the early drop: ${error instanceof Error ? error.message : 'unknown'}`;
}

function attachFailureReason({ code }: SystemError): string {
  if (code === 'ENODEV') return 'there is no such device';
  return `the kernel does not take a program on this device (${code})`;
}
