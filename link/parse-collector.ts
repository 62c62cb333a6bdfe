import {
  type AssignedExporter,
  type CollectorAssignment,
  type CollectorRequest,
  type CollectorsNotice,
  type CollectorStatus,
  type CollectorWelcome,
  type ExporterStatus,
  MAX_EXPORTER_PREFIXES,
  MAX_EXPORTERS,
  MAX_REPORTED_EXPORTERS,
} from './collector-messages.ts';
import { network } from './parse-policy.ts';
import { address } from './parse-report.ts';
import { WATCH_REQUESTS } from './parse-watch.ts';
import { instance } from './session-shapes.ts';
import {
  between,
  integer,
  list,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  prose,
  type Shape,
  whole,
} from './shape.ts';

const listen = matching(/^(?:\[[0-9A-Fa-f:.]{2,45}\]|[0-9.]{7,15}):[0-9]{1,5}$/, 'an ADDRESS:PORT');
const version = integer(0, 1_000_000);
/** Kept apart from zero: an agent must not spin, whatever it is told. */
const period = integer(10, 86_400_000);
const count = between(0, 1e15);

const exporterStatus = object<ExporterStatus>({
  ip: address,
  heardAgoMs: nullable(count),
  datagrams: whole,
  records: whole,
  lost: whole,
  malformed: whole,
  templates: whole,
  withoutTemplate: whole,
});

/** Also of what control keeps of it. */
export const collectorStatus = object<CollectorStatus>({
  listening: nullable(listen),
  problem: nullable(prose(2_000)),
  bufferBytes: whole,
  socketDrops: whole,
  strangers: whole,
  outside: whole,
  exporters: list(exporterStatus, MAX_REPORTED_EXPORTERS),
});

/** All that a collector may say. */
export const COLLECTOR_REQUESTS: {
  readonly [K in CollectorRequest['kind']]: Shape<Extract<CollectorRequest, { kind: K }>>;
} = {
  'collector.hello': object({
    kind: oneOf('collector.hello'),
    protocolVersion: version,
    instance,
  }),
  'collector.report': object({
    kind: oneOf('collector.report'),
    instance,
    report: collectorStatus,
  }),
  'watch.ask': WATCH_REQUESTS['watch.ask'],
  'watch.samples': WATCH_REQUESTS['watch.samples'],
};

export const COLLECTOR_REPLIES: { readonly 'collector.welcome': Shape<CollectorWelcome> } = {
  'collector.welcome': object({
    kind: oneOf('collector.welcome'),
    protocolVersion: version,
    settings: object<CollectorAssignment>({
      listen,
      exporters: list(
        object<AssignedExporter>({
          ip: address,
          samplingRate: nullable(integer(1, 16_777_216)),
          prefixes: optional(nullable(list(network, MAX_EXPORTER_PREFIXES)), null),
        }),
        MAX_EXPORTERS,
      ),
    }),
    reportMs: period,
    resyncMs: period,
  }),
};

export const COLLECTOR_NOTICES: { readonly collectors: Shape<CollectorsNotice> } = {
  collectors: object({ kind: oneOf('collectors') }),
};
