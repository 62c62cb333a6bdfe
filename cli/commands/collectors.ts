import type { KnownCollector } from '@portcullis/control/attacks/collectors/index.ts';
import type { ExporterStatus } from '@portcullis/link/messages/collector.ts';
import type { Command } from 'commander';
import { addEnrolment } from '../agents/enrolment.ts';
import { withDatabase } from '../database.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import {
  formatAgo,
  formatConnection,
  print,
  printJson,
  printTable,
  styled,
} from '@portcullis/caller/output.ts';

export function addCollectors(program: Command): void {
  const collectors = program
    .command('collectors')
    .description('the collectors of flow exports: their exporters, and what they lost')
    .addHelpText(
      'after',
      `
"portcullis up" runs the collectors of the fleet file itself. A collector that is started separately on this host
authenticates with its own credential, which allows it to report its counts and nothing else.

  portcullis collectors list                     one line per collector, and all its exporters
  portcullis collectors enrol flows --save FILE  a credential for: portcullis collector --link SOCKET --name flows
  portcullis collectors list --json | jq '.data[].report.exporters[] | select(.heard_ago_ms == null).ip'`,
    );
  withDatabaseOptions(
    collectors.command('list').description('every collector and its exporters'),
  ).action(listCollectors);
  addEnrolment(collectors, 'collector');
}

async function listCollectors(options: DatabaseOptions): Promise<void> {
  const { loadCollectorStatuses } = await import('@portcullis/control/attacks/collectors/index.ts');
  const collectors = await withDatabase(options, (db) => loadCollectorStatuses(db));
  if (options.json === true) {
    printJson(collectors.map(collectorView));
    return;
  }
  if (collectors.length === 0) {
    print('No collectors: name them in the fleet file.');
    return;
  }
  await printTable(
    ['NAME', 'LISTENS', 'STATE', 'EXPORTERS', 'DROPPED', 'UNKNOWN', 'LAST SEEN'],
    collectors.map((one) => [
      one.name,
      one.report?.listening ?? `not (${one.listen})`,
      formatConnection(one),
      `${one.report?.exporters.filter(({ heardAgoMs }) => heardAgoMs !== null).length ?? 0} of ${one.listed}`,
      String(one.report?.socketDrops ?? '-'),
      String(one.report?.unknownExporters ?? '-'),
      formatAgo(one.lastSeenAt),
    ]),
  );
  for (const { name, prefixes } of collectors) {
    const isAll = prefixes === 'all';
    const whom = isAll
      ? 'all destinations, so it can report an attack on any'
      : prefixes.join(', ');
    print(styled(isAll ? 'yellow' : 'dim', `${name} is believed of ${whom}.`));
  }
  for (const { name, report } of collectors) {
    if (report?.problem) print(styled('yellow', `${name}: ${report.problem}`));
  }
  await describeExporters(collectors);
}

async function describeExporters(collectors: readonly KnownCollector[]): Promise<void> {
  const rows = collectors.flatMap(({ name, report }) =>
    (report?.exporters ?? []).map((exporter) => [
      name,
      exporter.ip,
      exporter.heardAgoMs === null ? 'never' : `${Math.round(exporter.heardAgoMs / 1000)} s ago`,
      String(exporter.datagrams),
      String(exporter.records),
      String(exporter.lost),
      String(exporter.malformed),
      String(exporter.templates),
      String(exporter.withoutTemplate),
      String(exporter.withoutTraffic),
      String(exporter.implausible),
    ]),
  );
  if (rows.length === 0) return;
  print();
  const head = ['COLLECTOR', 'EXPORTER', 'LAST SEEN', 'DATAGRAMS', 'RECORDS', 'LOST', 'MALFORMED'];
  await printTable([...head, 'TEMPLATES', 'NO TEMPLATE', 'NO TRAFFIC', 'IMPLAUSIBLE'], rows);
  for (const { name, report } of collectors) {
    for (const { ip, implausible, templatesRefused } of report?.exporters ?? []) {
      if (implausible > 0) {
        const what = `${implausible} records of ${ip} said more than a line can carry`;
        print(styled('yellow', `${name}: ${what} since its start: reading errors, not counted`));
      }
      if (templatesRefused > 0) {
        const what = `${templatesRefused} templates of ${ip} could not be read since its start`;
        print(styled('yellow', `${name}: ${what}`));
      }
    }
  }
}

function collectorView({ report, ...one }: KnownCollector): object {
  return {
    name: one.name,
    listen: one.listen,
    prefixes: one.prefixes,
    enrolled_at: one.enrolledAt?.toISOString() ?? null,
    last_seen_at: one.lastSeenAt?.toISOString() ?? null,
    connected: one.connected,
    report: report && {
      listening: report.listening,
      problem: report.problem,
      buffer_bytes: report.bufferBytes,
      socket_drops: report.socketDrops,
      unlisted_datagrams: report.unknownExporters,
      // The previous name, which goes with the next version.
      strangers: report.unknownExporters,
      outside: report.outside,
      exporters: report.exporters.map(exporterView),
    },
  };
}

function exporterView(exporter: ExporterStatus): object {
  return {
    ip: exporter.ip,
    heard_ago_ms: exporter.heardAgoMs,
    datagrams: exporter.datagrams,
    records: exporter.records,
    lost: exporter.lost,
    malformed: exporter.malformed,
    templates: exporter.templates,
    without_template: exporter.withoutTemplate,
    templates_refused: exporter.templatesRefused,
    without_traffic: exporter.withoutTraffic,
    implausible: exporter.implausible,
  };
}
