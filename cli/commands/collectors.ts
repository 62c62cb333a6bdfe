import {
  enrolCollector,
  type KnownCollector,
  loadCollectorStatuses,
} from '@portcullis/control/collectors/index.ts';
import type { ExporterStatus } from '@portcullis/link/messages/collector.ts';
import { withDatabase } from '../database.ts';
import { failed } from '../exit.ts';
import { saveCredential } from '../node-credential.ts';
import { agoOf, print, printJson, printTable, styled, warn } from '../output.ts';
import type { CollectorsOptions, EnrolCollectorOptions } from '../program/collectors.ts';
import { operator } from '../up/first-start.ts';

/** `portcullis collectors list`. */
export async function listCollectors(options: CollectorsOptions): Promise<void> {
  const collectors = await withDatabase(options, (db) => loadCollectorStatuses(db));
  if (options.json === true) {
    printJson({ collectors: collectors.map(collectorView) });
    return;
  }
  if (collectors.length === 0) {
    print('No collectors: name them in the fleet file.');
    return;
  }
  await printTable(
    ['NAME', 'LISTENS', 'STATE', 'EXPORTERS', 'DROPPED', 'STRANGERS', 'HEARD'],
    collectors.map((one) => [
      one.name,
      one.report?.listening ?? `not (${one.listen})`,
      stateOf(one),
      `${one.report?.exporters.filter(({ heardAgoMs }) => heardAgoMs !== null).length ?? 0} of ${one.listed}`,
      String(one.report?.socketDrops ?? '-'),
      String(one.report?.strangers ?? '-'),
      agoOf(one.lastSeenAt),
    ]),
  );
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
    ]),
  );
  if (rows.length === 0) return;
  print();
  const head = ['COLLECTOR', 'EXPORTER', 'HEARD', 'DATAGRAMS', 'RECORDS', 'LOST', 'MALFORMED'];
  await printTable([...head, 'TEMPLATES', 'WITHOUT'], rows);
}

/** `portcullis collectors enrol NAME`. */
export async function enrolCollectorCommand(
  name: string,
  options: EnrolCollectorOptions,
): Promise<void> {
  const credential = await withDatabase(options, (db) =>
    db.transaction().execute((tx) => enrolCollector(tx, name, operator())),
  );
  if (credential === null) {
    throw failed(`the fleet has no collector ${name}: add it to the fleet file`);
  }
  const file = options.save;
  if (file !== undefined) saveCredential(file, credential);
  if (options.json === true) {
    printJson({ collector: name, ...(file === undefined ? { credential } : { file }) });
    return;
  }
  if (file === undefined) {
    print(credential);
    warn('This is the only time that it is shown. The one before, if any, works no more.');
  } else {
    print(`The credential of ${name} is in ${file}. The one before, if any, works no more.`);
  }
}

function stateOf({ enrolledAt, lastSeenAt, connected }: KnownCollector): string {
  if (connected) return 'connected';
  if (enrolledAt === null) return 'not enrolled';
  return lastSeenAt === null ? 'never heard of' : 'away';
}

function collectorView({ report, ...one }: KnownCollector): object {
  return {
    name: one.name,
    listen: one.listen,
    enrolled_at: one.enrolledAt?.toISOString() ?? null,
    last_seen_at: one.lastSeenAt?.toISOString() ?? null,
    connected: one.connected,
    report: report && {
      listening: report.listening,
      problem: report.problem,
      buffer_bytes: report.bufferBytes,
      socket_drops: report.socketDrops,
      strangers: report.strangers,
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
  };
}
