import { WATCH_REQUESTS } from './attacks.ts';
import {
  array,
  integer,
  kinds,
  matching,
  natural,
  nullable,
  number,
  object,
  type Static,
  type StaticUnion,
  withDefault,
} from './schema.ts';
import { address, instance, network, periodMs, protocolVersion, reason } from './values.ts';

export const MAX_EXPORTER_PREFIXES = 64;
export const MAX_EXPORTERS = 1_000;
export const MAX_REPORTED_EXPORTERS = 256;

/** ADDRESS:PORT, with IPv6 addresses in brackets. */
const listen = matching(/^(?:\[[0-9A-Fa-f:.]{2,45}\]|[0-9.]{7,15}):[0-9]{1,5}$/, 'an ADDRESS:PORT');

const exporterStatus = object({
  ip: address,
  /** Time since its last datagram; null if it sent none. */
  heardAgoMs: nullable(number(0, 1e15)),
  datagrams: natural,
  records: natural,
  /** Datagrams that never arrived, by the exporter's sequence numbers. */
  lost: natural,
  malformed: natural,
  /** Known templates. */
  templates: natural,
  /** Data sets whose template is unreadable or did not arrive in time. */
  withoutTemplate: natural,
  /** Templates that cannot be read. This count and those below are 0 from older collectors. */
  templatesRefused: withDefault(natural, 0),
  /** Records without a destination or without packets. */
  withoutTraffic: withDefault(natural, 0),
  /** Records of more than the exporter's lines can carry. */
  implausible: withDefault(natural, 0),
});
export type ExporterStatus = Static<typeof exporterStatus>;

/** The report of a collector on itself; control also stores it. Counts are since the collector's start. */
export const collectorStatus = object({
  /** The address on which it listens; null if it does not. */
  listening: nullable(listen),
  /** Why it does not work as configured, in words. */
  problem: nullable(reason),
  /** Size of the kernel's receive buffer. */
  bufferBytes: natural,
  /** Datagrams that the full receive buffer dropped. */
  socketDrops: natural,
  /** Datagrams of exporters that are not listed. */
  unknownExporters: natural,
  /** Records to destinations that are not protected, or for which their exporter is not accepted. */
  outside: natural,
  /** The exporters: those seen last come first. */
  exporters: array(exporterStatus, MAX_REPORTED_EXPORTERS),
});
export type CollectorStatus = Static<typeof collectorStatus>;

const assignedExporter = object({
  ip: address,
  /** For data without a sampling rate of its own; null if every packet is counted. */
  samplingRate: nullable(integer(1, 16_777_216)),
  /** The destinations for which its records are accepted; null for all. */
  prefixes: nullable(array(network, MAX_EXPORTER_PREFIXES)),
});
export type AssignedExporter = Static<typeof assignedExporter>;

/** The operator's settings for a collector. */
const collectorAssignment = object({ listen, exporters: array(assignedExporter, MAX_EXPORTERS) });
export type CollectorAssignment = Static<typeof collectorAssignment>;

/** All messages that a collector may send: one that is compromised can forge measurements and nothing else. */
export const COLLECTOR_REQUESTS = {
  ...kinds({
    /** First on every connection, again on a `collectors` notice and every `resyncMs`: notices may be lost. */
    'collector.hello': { protocolVersion, instance },
    /** Sent every `reportMs`. A restarted control plane answers `resync`, which asks for a hello. */
    'collector.report': { instance, report: collectorStatus },
  }),
  'detection.getSettings': WATCH_REQUESTS['detection.getSettings'],
  'watch.samples': WATCH_REQUESTS['watch.samples'],
};
export type CollectorRequest = StaticUnion<typeof COLLECTOR_REQUESTS>;
export type CollectorHello = Static<(typeof COLLECTOR_REQUESTS)['collector.hello']>;
export type CollectorReport = Static<(typeof COLLECTOR_REQUESTS)['collector.report']>;

export const COLLECTOR_REPLIES = kinds({
  'collector.welcome': {
    protocolVersion,
    settings: collectorAssignment,
    reportMs: periodMs,
    resyncMs: periodMs,
  },
});

/** The fleet's collectors changed. */
export const COLLECTOR_NOTICES = kinds({ collectors: {} });
