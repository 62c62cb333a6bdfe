import { ExportClock } from './export-clock.ts';
import {
  createRecord,
  type Emit,
  type FlowRecord,
  MAX_SAMPLING_RATE,
  unmapAddresses,
} from '@portcullis/core/attacks/flow-record.ts';
import { LineLimit } from '@portcullis/core/attacks/line.ts';
import { type Direction, Interfaces } from './interfaces.ts';
import type { Networks } from '../aggregate/networks.ts';
import { putBounded } from './put-bounded.ts';
import { RunningTotals } from './running-totals.ts';
import { SamplePace } from './sample-pace.ts';
import { TemplateStore } from './template-store.ts';

/** Counters of one exporter since the start. */
export interface ExporterCounters {
  datagrams: number;
  /** Records that became a `FlowRecord`. */
  records: number;
  /** Datagrams with a part that contradicts its lengths; the other parts count. */
  malformed: number;
  /** Data sets whose template is unreadable or did not arrive in time, or that exceeded the capacity for waiting sets. */
  withoutTemplate: number;
  /** Refused templates: too long or contradictory. */
  templatesRefused: number;
  /** Samples that the sFlow agent reports as dropped. */
  agentDrops: number;
  /** Egress records of packets that were exported on ingress already. */
  reportedTwice: number;
  /** Records to networks that the exporter may not report. */
  beyond: number;
  /** Records without a destination or without packets: there is nothing to count. */
  withoutTraffic: number;
  /** Records of more than the exporter's lines can carry: reading errors. */
  implausible: number;
}

export function noCounters(): ExporterCounters {
  return {
    datagrams: 0,
    records: 0,
    malformed: 0,
    withoutTemplate: 0,
    templatesRefused: 0,
    agentDrops: 0,
    reportedTwice: 0,
    beyond: 0,
    withoutTraffic: 0,
    implausible: 0,
  };
}

/** The state of one listed exporter between its datagrams. All of it is bounded. */
export class Exporter {
  readonly address: string;
  /** The operator's sampling rate, for exports without one. */
  readonly defaultRate: number;
  readonly counters = noCounters();
  /** The networks that it may report. Null means all. */
  within: Networks | null = null;
  /** In monotonic time. Null before the first datagram. */
  receivedAtMs: number | null = null;
  readonly sequences = new Sequences();
  readonly clock = new ExportClock();
  readonly pace = new SamplePace();
  readonly interfaces = new Interfaces();
  readonly netflow = new TemplateStore();
  readonly ipfix = new TemplateStore();
  readonly totals = new RunningTotals();
  /** The reused record. */
  readonly record = createRecord();

  readonly #observer: number;
  readonly #line = new LineLimit();

  /** `number` identifies the exporter, counted from 0. */
  constructor(address: string, defaultRate = 1, number = 0) {
    this.address = address;
    this.defaultRate = defaultRate;
    this.#observer = number * 2;
  }

  get templates(): number {
    return this.netflow.templates + this.ipfix.templates;
  }

  /**
   * Emits a record, unless it is impossible, the exporter may not report it, or its packets were exported on ingress.
   * Every record of every format comes through here.
   */
  pass(
    record: FlowRecord,
    { port, nowMs, emit }: Arrival,
    direction: Direction,
    input: number,
  ): void {
    if (!this.#line.admits(record, nowMs)) {
      this.counters.implausible++;
      return;
    }
    this.counters.records++;
    unmapAddresses(record);
    if (this.within !== null && !this.within.hasDestinationOf(record)) {
      this.counters.beyond++;
      return;
    }
    const observed = this.interfaces.classify(port, direction, input, nowMs);
    if (observed === 'twice') {
      this.counters.reportedTwice++;
      return;
    }
    record.observer = observed === 'unsure' ? this.#observer + 1 : this.#observer;
    emit(record);
  }

  /** Implausible exported rates are ignored. */
  rate(reported: number): number {
    return reported >= 1 && reported <= MAX_SAMPLING_RATE ? reported : this.defaultRate;
  }
}

/** The origin and time of a datagram, and the receiver of its records. */
export interface Arrival {
  readonly exporter: Exporter;
  /** The UDP port that it was sent from. Several exporting processes may share an address; each has its own port. */
  readonly port: number;
  /** In monotonic time. */
  readonly nowMs: number;
  readonly emit: Emit;
}

/** The most sequence streams of one exporter. */
const MAX_STREAMS = 256;
/** A larger gap is a restart, no loss. */
const MAX_GAP = 1_000_000;
/** Reordered datagrams are within this distance. */
const MAX_REORDERED = 64;

/**
 * Counts losses between an exporter and the collector by sequence numbers. Each stream counts its datagrams or its
 * records.
 */
class Sequences {
  readonly #expected = new Map<string | number, number>();
  lost = 0;

  /** `length`: the step to the next sequence number. Null if unknown. */
  note(stream: string | number, sequence: number, length: number | null): void {
    const expected = this.#expected.get(stream);
    if (expected !== undefined) {
      const gap = (sequence - expected) >>> 0;
      if (gap > 0 && gap <= MAX_GAP) this.lost += gap;
      const back = (expected - sequence) >>> 0;
      if (back > 0 && back <= MAX_REORDERED) {
        // It was counted as lost when later ones arrived first.
        this.lost = Math.max(0, this.lost - (length ?? 0));
        return;
      }
    }
    if (length === null) this.#expected.delete(stream);
    else putBounded(this.#expected, stream, (sequence + length) >>> 0, MAX_STREAMS);
  }
}
