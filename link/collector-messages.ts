import type { WatchAsk, WatchSamples } from './watch-messages.ts';

/**
 * What a collector of flows says to control: what it needs to know, how it is, and what it counted. It has no word
 * for anything else, so that who takes one over can forge measurements and no more.
 */
export type CollectorRequest = CollectorHello | CollectorReport | WatchAsk | WatchSamples;

/** First message on every connection, again on a `CollectorsNotice` and every `resyncMs`: notices may be lost. */
export interface CollectorHello {
  readonly kind: 'collector.hello';
  readonly protocolVersion: number;
  /** Random for each start; the latest one speaks for the collector. */
  readonly instance: string;
}

export interface CollectorWelcome {
  readonly kind: 'collector.welcome';
  readonly protocolVersion: number;
  readonly settings: CollectorAssignment;
  readonly reportMs: number;
  readonly resyncMs: number;
}

/** What the operator configured for this collector. */
export interface CollectorAssignment {
  /** ADDRESS:PORT, IPv6 in brackets. */
  readonly listen: string;
  readonly exporters: readonly AssignedExporter[];
}
export interface AssignedExporter {
  readonly ip: string;
  /** For what the exporter tells no rate for; null: every packet. */
  readonly samplingRate: number | null;
  /** What it is believed of: destinations in these. Null: everything. */
  readonly prefixes: readonly string[] | null;
}
export const MAX_EXPORTER_PREFIXES = 64;
export const MAX_EXPORTERS = 1_000;

/** Every `reportMs`. A restarted control answers `resync`: say hello. */
export interface CollectorReport {
  readonly kind: 'collector.report';
  readonly instance: string;
  readonly report: CollectorStatus;
}

/** What a collector knows of itself, for people. Counts are since its start. */
export interface CollectorStatus {
  /** Where it listens; null: nowhere. */
  readonly listening: string | null;
  /** Why it does not do what it should, in words. */
  readonly problem: string | null;
  /** Room that the kernel gives for datagrams that are not read yet. */
  readonly bufferBytes: number;
  /** Datagrams that found no such room. */
  readonly socketDrops: number;
  /** Datagrams of exporters that are not listed. */
  readonly strangers: number;
  /** Records to destinations that are not protected, or that their exporter is not believed of. */
  readonly outside: number;
  /** Those that were heard the latest come first; all of them, up to `MAX_REPORTED_EXPORTERS`. */
  readonly exporters: readonly ExporterStatus[];
}
export interface ExporterStatus {
  readonly ip: string;
  /** How long ago its last datagram came; null: none did. */
  readonly heardAgoMs: number | null;
  readonly datagrams: number;
  readonly records: number;
  /** By its own numbering: never came. */
  readonly lost: number;
  readonly malformed: number;
  /** Templates that are known of it. */
  readonly templates: number;
  /** Sets of data that no template told of in time. */
  readonly withoutTemplate: number;
}
export const MAX_REPORTED_EXPORTERS = 256;

/** A hint: collectors of the fleet changed. */
export interface CollectorsNotice {
  readonly kind: 'collectors';
}
