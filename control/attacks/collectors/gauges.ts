import type { Registry } from 'prom-client';
import type { CollectorStatus, ExporterStatus } from '@portcullis/link/messages/collector.ts';
import type { Db } from '../../db/database.ts';
import { registerScraped } from '../../scraped-metric.ts';
import { type KnownCollector, loadCollectorStatuses } from './status.ts';

interface CollectorGauge {
  readonly name: string;
  readonly help: string;
  /** Null if unknown. */
  readonly value: (one: KnownCollector) => number | null;
}

const GAUGES: readonly CollectorGauge[] = [
  {
    name: 'connected',
    help: '1: the collector reported lately.',
    value: ({ connected }) => Number(connected),
  },
  {
    name: 'exporters_listed',
    help: 'Exporters that may send to the collector.',
    value: ({ listed }) => listed,
  },
  ofReport(
    'exporters_heard',
    'Exporters that sent something since its start.',
    ({ exporters }) => exporters.filter(({ heardAgoMs }) => heardAgoMs !== null).length,
  ),
  ofReport('listening', '1: it listens. 0: portcullis collectors list says why not.', (report) =>
    Number(report.listening !== null),
  ),
  ofReport(
    'socket_drops_total',
    'Datagrams since its start that came faster than they were read.',
    (report) => report.socketDrops,
  ),
  ofReport(
    'unlisted_datagrams_total',
    'Datagrams since its start of exporters that are not listed.',
    (report) => report.unknownExporters,
  ),
  ofReport(
    'strangers_total',
    'The previous name of unlisted_datagrams_total, which goes with the next version.',
    (report) => report.unknownExporters,
  ),
  ofExporters(
    'lost_exports_total',
    'Datagrams or records since its start that exporters numbered and that never came.',
    'lost',
  ),
  ofExporters('templates', 'Templates that are known of its exporters.', 'templates'),
  ofExporters(
    'malformed_total',
    'Datagrams since its start with a part that contradicts its lengths.',
    'malformed',
  ),
  ofExporters(
    'without_template_total',
    'Data sets since its start whose template is unreadable or did not come.',
    'withoutTemplate',
  ),
  ofExporters(
    'templates_refused_total',
    'Templates since its start that cannot be read.',
    'templatesRefused',
  ),
  ofExporters(
    'without_traffic_total',
    'Records since its start that have no destination or no packets.',
    'withoutTraffic',
  ),
  ofExporters(
    'implausible_total',
    'Records since its start of more than a line can carry: reading errors, which do not count.',
    'implausible',
  ),
];

type ExporterCount = Exclude<keyof ExporterStatus, 'ip' | 'heardAgoMs'>;

/** The sum of a count of all exporters. */
function ofExporters(name: string, help: string, count: ExporterCount): CollectorGauge {
  return ofReport(name, help, ({ exporters }) =>
    exporters.reduce((sum, one) => sum + one[count], 0),
  );
}

function ofReport(
  name: string,
  help: string,
  value: (report: CollectorStatus) => number,
): CollectorGauge {
  return { name, help, value: ({ report }) => (report === null ? null : value(report)) };
}

/** Metrics of collectors, read on scrape; absent while the database is away. */
export function registerCollectorGauges(registry: Registry, db: Db): void {
  for (const { name, help, value } of GAUGES) {
    const read = async () =>
      (await loadCollectorStatuses(db)).flatMap((one) => {
        const now = value(one);
        return now === null ? [] : [[{ collector: one.name }, now] as const];
      });
    registerScraped(registry, { name: `collector_${name}`, help, labels: ['collector'], read });
  }
}
