import { ExportClock } from './export-clock.ts';
import {
  createRecord,
  type Emit,
  type FlowRecord,
  MAX_SAMPLING_RATE,
} from '@portcullis/core/attacks/flow-record.ts';
import { type Direction, Interfaces } from './interfaces.ts';
import type { Networks } from '../aggregate/networks.ts';
import { SamplePace } from './sample-pace.ts';
import { Sequences } from './sequence.ts';
import { TemplateStore } from './template-store.ts';

/** What came from one exporter, since the start. */
export interface ExporterCounters {
  datagrams: number;
  /** That became a `FlowRecord`. */
  records: number;
  /** Datagrams of which a part did not hold what its lengths say; what stood before it counts. */
  malformed: number;
  /** Sets of data that no template told of in time, or that found no room to wait for one. */
  withoutTemplate: number;
  /** Templates that were no use: too many, too long, contradicting themselves. */
  templatesRefused: number;
  /** Samples that an sFlow agent says it could not send. */
  agentDrops: number;
  /** Records of what goes out that were told when it came in, and count once. */
  toldTwice: number;
  /** Records of what the operator does not believe it of. */
  beyond: number;
}

/** Of one of the listed exporters: what has to be remembered between its datagrams. All of it is bounded. */
export class Exporter {
  readonly address: string;
  /** The rate that the operator gave it, for what it tells none for. */
  readonly defaultRate: number;
  readonly counters: ExporterCounters = {
    datagrams: 0,
    records: 0,
    malformed: 0,
    withoutTemplate: 0,
    templatesRefused: 0,
    agentDrops: 0,
    toldTwice: 0,
    beyond: 0,
  };
  /** What it is believed of; null: everything. */
  within: Networks | null = null;
  /** By a clock that does not jump; null: nothing came of it yet. */
  heardAtMs: number | null = null;
  readonly sequences = new Sequences();
  readonly clock = new ExportClock();
  readonly pace = new SamplePace();
  readonly interfaces = new Interfaces();
  readonly netflow = new TemplateStore();
  readonly ipfix = new TemplateStore();
  /** The one that is filled again and again. */
  readonly record = createRecord();

  readonly #observer: number;

  /** `number`: another for each exporter that is listened to, from 0 on. */
  constructor(address: string, defaultRate = 1, number = 0) {
    this.address = address;
    this.defaultRate = defaultRate;
    this.#observer = number * 2;
  }

  get templates(): number {
    return this.netflow.templates + this.ipfix.templates;
  }

  /** Hands a record on, unless it is of others than it is believed of, or of packets that were told when they came in. */
  pass(record: FlowRecord, direction: Direction, input: number, nowMs: number, emit: Emit): void {
    if (this.within !== null && !this.within.hasDestinationOf(record)) {
      this.counters.beyond++;
      return;
    }
    const told = this.interfaces.judge(direction, input, nowMs);
    if (told === 'twice') {
      this.counters.toldTwice++;
      return;
    }
    record.observer = told === 'unsure' ? this.#observer + 1 : this.#observer;
    emit(record);
  }

  /** Told rates that nobody has are not believed. */
  rate(told: number): number {
    return told >= 1 && told <= MAX_SAMPLING_RATE ? told : this.defaultRate;
  }
}

/** Where and when a datagram came from, and where its records go. */
export interface Arrival {
  readonly exporter: Exporter;
  /** By a clock that does not jump. */
  readonly nowMs: number;
  readonly emit: Emit;
}
