import type { DropReading } from '@portcullis/dataplane/drops.ts';
import type { PassedSample } from '@portcullis/core/firewall/passed.ts';
import { type DropEntry, type DropSample } from '@portcullis/core/firewall/drops.ts';
import {
  type EdgeDrops,
  isDropEntry,
  isDropSample,
  isPassedSample,
  MAX_DROP_ENTRIES,
  MAX_DROP_SAMPLES,
  MAX_PASSED_SAMPLES,
} from '@portcullis/link/messages/edge-report.ts';

interface Window {
  sinceMs: number;
  untilMs: number;
  readonly entries: Map<string, DropEntry>;
  /** The remaining entries once its reports have started, largest last. Nothing is added then. */
  queue: DropEntry[] | null;
  readonly samples: DropSample[];
  readonly sampled: Map<string, number>;
  /** Samples of what passed, by packet. */
  readonly passed: Map<string, PassedSample>;
}

const MINUTE_MS = 60_000;
/** The most windows: without control for longer, windows are merged: the counts stay, their time becomes coarser. */
const MAX_WINDOWS = 60;
/** Over all windows. Packets beyond it are only counted as lost. */
const MAX_KEYS = 200_000;
/** A flood on one address must not leave others without a sample. */
const MAX_SAMPLES_PER_TARGET = 20;
/** The most kinds of a window; a flood of kinds beyond it is not sampled. */
const MAX_PASSED = 4_000;

/**
 * Drops that control has not acknowledged, by minutes of this host's clock. Bounded, because control may be away for
 * days. One report at a time is pending and unchanged until it is settled, so that a repetition is the same report.
 */
export class DropLedger {
  readonly #windows: Window[] = [];
  #keys = 0;
  #readMs: number;
  #pending: EdgeDrops | null = null;
  #lostPackets = 0;

  constructor(nowMs: number) {
    this.#readMs = nowMs;
  }

  /** Dropped packets that will be in no report. */
  get lostPackets(): number {
    return this.#lostPackets;
  }

  /** Adds the readings since the last call. */
  add(readings: readonly DropReading[], nowMs: number): void {
    const sinceMs = Math.min(this.#readMs, nowMs);
    this.#readMs = nowMs;
    const hasAny = readings.some(
      ({ entries, samples, passed = [] }) => entries.length + samples.length + passed.length > 0,
    );
    if (!hasAny) return;
    const window = this.#windowFor(sinceMs, nowMs);
    for (const { entries, samples, passed = [] } of readings) {
      for (const entry of entries) this.#count(window, entry);
      for (const sample of samples) addSample(window, sample);
      for (const sample of passed) addPassed(window, sample);
    }
  }

  /** The next report, largest entries first. Null if control has acknowledged everything. */
  pending(): EdgeDrops | null {
    const window = this.#windows[0];
    if (this.#pending !== null || window === undefined) return this.#pending;
    window.queue ??= [...window.entries.values()].toSorted((a, b) => a.packets - b.packets);
    const entries = window.queue.splice(-MAX_DROP_ENTRIES).toReversed();
    this.#keys -= entries.length;
    const samples = window.samples.splice(0, MAX_DROP_SAMPLES);
    const passed = takePassed(window);
    if (window.queue.length + window.samples.length + window.passed.size === 0) {
      this.#windows.shift();
    }
    const { sinceMs, untilMs } = window;
    this.#pending = {
      sinceMs,
      untilMs,
      entries: entries.filter((entry) => isDropEntry(entry) || this.#lose(entry)),
      // Senders forge addresses, also into forms that are no valid address here (::ffff:192.0.2.1).
      samples: samples.filter(isDropSample),
      ...(passed.length > 0 && { passed: passed.filter(isPassedSample) }),
    };
    return this.#pending;
  }

  /** Control has acknowledged the pending report. */
  settle(): void {
    this.#pending = null;
  }

  /** Control does not count drops. */
  discard(): void {
    this.#pending = null;
    this.#windows.length = 0;
    this.#keys = 0;
  }

  #lose({ packets }: DropEntry): false {
    this.#lostPackets += packets;
    return false;
  }

  #windowFor(sinceMs: number, nowMs: number): Window {
    const last = this.#windows.at(-1);
    if (last?.queue === null && minuteOf(last.untilMs) === minuteOf(nowMs)) {
      last.untilMs = Math.max(last.untilMs, nowMs);
      return last;
    }
    const window = {
      sinceMs,
      untilMs: nowMs,
      entries: new Map<string, DropEntry>(),
      queue: null,
      samples: [],
      sampled: new Map(),
      passed: new Map<string, PassedSample>(),
    };
    this.#windows.push(window);
    if (this.#windows.length > MAX_WINDOWS) this.#joinOldest();
    return window;
  }

  #joinOldest(): void {
    const [oldest, next] = this.#windows;
    if (oldest === undefined || next === undefined) return;
    this.#windows.shift();
    const entries = oldest.queue ?? [...oldest.entries.values()];
    this.#keys -= entries.length;
    next.sinceMs = oldest.sinceMs;
    for (const entry of entries) this.#count(next, entry);
    for (const sample of oldest.passed.values()) addPassed(next, sample);
  }

  #count(window: Window, entry: DropEntry): void {
    if (!(entry.packets > 0)) return;
    const key = `${entry.target} ${entry.by} ${entry.stage} ${entry.reason}`;
    const known = window.entries.get(key);
    if (known === undefined) {
      if (this.#keys >= MAX_KEYS) {
        this.#lose(entry);
        return;
      }
      this.#keys += 1;
    }
    const packets = (known?.packets ?? 0) + entry.packets;
    const bytes = (known?.bytes ?? 0) + entry.bytes;
    window.entries.set(key, { ...entry, packets, bytes });
  }
}

function addSample(window: Window, sample: DropSample): void {
  const sampled = window.sampled.get(sample.destination) ?? 0;
  if (sampled >= MAX_SAMPLES_PER_TARGET || window.samples.length >= MAX_DROP_SAMPLES) return;
  window.sampled.set(sample.destination, sampled + 1);
  window.samples.push(sample);
}

function addPassed(window: Window, sample: PassedSample): void {
  const { destination, source, protocol, destinationPort } = sample;
  const key = `${destination} ${source} ${protocol} ${destinationPort}`;
  const known = window.passed.get(key);
  if (known === undefined && window.passed.size >= MAX_PASSED) return;
  window.passed.set(key, { ...sample, packets: sample.packets + (known?.packets ?? 0) });
}

function takePassed({ passed }: Window): PassedSample[] {
  const taken = [...passed].slice(0, MAX_PASSED_SAMPLES);
  for (const [key] of taken) passed.delete(key);
  return taken.map(([, sample]) => sample);
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}
