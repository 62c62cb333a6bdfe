import { createRecord, type Emit, MAX_SAMPLING_RATE } from './flow-record.ts';
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
  };
  /** By a clock that does not jump; null: nothing came of it yet. */
  heardAtMs: number | null = null;
  readonly sequences = new Sequences();
  readonly netflow = new TemplateStore();
  readonly ipfix = new TemplateStore();
  /** The one that is filled again and again. */
  readonly record = createRecord();

  constructor(address: string, defaultRate = 1) {
    this.address = address;
    this.defaultRate = defaultRate;
  }

  get templates(): number {
    return this.netflow.templates + this.ipfix.templates;
  }

  /** Told rates that nobody has are not believed. */
  rate(told: number): number {
    return told >= 1 && told <= MAX_SAMPLING_RATE ? told : this.defaultRate;
  }
}

/** Where and when a datagram came from, and where its records go. */
export interface Arrival {
  readonly exporter: Exporter;
  readonly nowMs: number;
  readonly emit: Emit;
}
