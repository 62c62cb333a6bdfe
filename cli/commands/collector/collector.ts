import { once } from 'node:events';
import { resolve } from 'node:path';
import type { CollectorCounters } from '@portcullis/collector/collector.ts';
import type { Thresholds } from '@portcullis/core/attacks/attack.ts';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { Command } from 'commander';
import { addJoin } from '../../agents/join.ts';
import { nameIn, readCredential } from '../../agents/credential-file.ts';
import { unavailable, usageError } from '@portcullis/caller/exit.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { print, styled, warn } from '@portcullis/caller/output.ts';
import { append } from '../server-files.ts';
import { parseCount, parseExporters, parseListen, parsePrefixes } from './flow-options.ts';
import type { FlowSummary } from './flow-watch.ts';

interface CollectorOptions {
  readonly listen?: readonly string[];
  readonly exporter?: readonly string[];
  readonly link?: string;
  readonly name?: string;
  readonly credentialFile?: string;
  readonly prefix?: readonly string[];
  readonly top: string;
  readonly pps: string;
  readonly mbps: string;
  readonly hold: string;
  readonly json?: boolean;
}

export function addCollector(program: Command): void {
  const collector = program
    .command('collector')
    .description('receives flow exports of routers and switches, and reports attacks')
    .option(
      '--listen <address:port>',
      'where exports are received; repeatable (IPv6: [::]:6343)',
      append,
    )
    .option(
      '--exporter <ip[=rate]>',
      'an allowed exporter; repeatable; the sampling rate applies if its exports have none',
      append,
    )
    .option(
      '--prefix <cidr>',
      'a protected prefix; repeatable (default: every destination)',
      append,
    )
    .option('--link <socket>', 'run as a collector of the fleet, configured by control')
    .option('--name <name>', 'with --link: as in the fleet file')
    .option(
      '--credential-file <file>',
      'a collector of the fleet: written by "portcullis collectors enrol" (default: PORTCULLIS_COLLECTOR_CREDENTIAL)',
    )
    .option('--pps <count>', 'an attack has this many packets per second to a destination', '20000')
    .option('--mbps <count>', 'or this many megabits per second to a destination', '1000')
    .option('--hold <time>', 'an attack ends after this time below the thresholds', '60s')
    .option('--top <count>', 'how many destinations to print each second', '5')
    .option('--json', 'one JSON document per line: each second, and at once for an attack')
    .addHelpText(
      'after',
      `
  portcullis collector --listen 0.0.0.0:6343 --exporter 192.0.2.1
  portcullis collector --listen 0.0.0.0:2055 --listen '[::]:2055' --exporter 192.0.2.1=1000 \\
      --exporter 2001:db8::1 --prefix 203.0.113.0/24
  portcullis collector --listen 0.0.0.0:6343 --exporter 192.0.2.1 --json | jq -c '.events[]'
  portcullis collector --listen 0.0.0.0:6343 --exporter 192.0.2.1 --pps 50000 --mbps 2000 --hold 30s
  portcullis collector --link /var/lib/portcullis/node-link/control.sock --name flows \\
      --credential-file /etc/portcullis/flows.credential

Reads sFlow 5, NetFlow 5 and 9 and IPFIX on any port. Needs no control plane and no privileges. With --link it reports
its counts to control, which detects and records attacks; "portcullis up" runs the collectors of its fleet file itself.
A busy exporter needs a larger receive buffer than the default: sysctl net.core.rmem_max=16777216.`,
    )
    .action(runCollector);
  addJoin(collector, 'collector', (file, options: CollectorOptions) =>
    runFleetCollector({ ...options, credentialFile: file }),
  );
}

const MAX_TOP = 1000;
/** A receive buffer below this size overflows soon with a busy exporter. */
const SMALL_BUFFER_BYTES = 1024 * 1024;
const MAX_SUBJECTS = 20_000;
const MAX_PPS = 999_999_999;
const MAX_MBPS = 999_999_999;

async function runCollector(options: CollectorOptions): Promise<void> {
  if ((options.link ?? options.credentialFile) !== undefined) return runFleetCollector(options);
  const { listen, exporter } = options;
  if (listen === undefined || exporter === undefined) {
    throw usageError('give --listen and --exporter, or --link and --name');
  }
  const top = parseCount(options.top, '--top', 0, MAX_TOP);
  const thresholds: Thresholds = {
    pps: parseCount(options.pps, '--pps', 1, MAX_PPS),
    bps: parseCount(options.mbps, '--mbps', 1, MAX_MBPS) * 1e6,
    holdMs: parseDuration(options.hold, '--hold'),
  };
  const [{ Collector }, { detailOf }, { FlowWatch }] = await Promise.all([
    import('@portcullis/collector/collector.ts'),
    import('@portcullis/core/attacks/detector/detector.ts'),
    import('./flow-watch.ts'),
  ]);
  const report = options.json === true ? reportJson : reportLines;
  const watch = new FlowWatch({ thresholdsOf: () => thresholds, maxSubjects: MAX_SUBJECTS });
  const onSample = (sample: Sample): void => {
    watch.add(sample);
    if (watch.isDue) report(watch.take(top), collector.counters());
  };
  const collector = await Collector.open({
    listen: listen.map(parseListen),
    exporters: parseExporters(exporter),
    prefixes: parsePrefixes(options.prefix),
    detail: detailOf(thresholds),
    onSample,
  }).catch((error: unknown) => {
    if (error instanceof Error && 'syscall' in error) {
      throw unavailable(`cannot listen: ${error.message}`);
    }
    throw error;
  });
  for (const { receiveBufferBytes } of collector.sockets) {
    if (receiveBufferBytes < SMALL_BUFFER_BYTES) {
      warn(`The receive buffer has only ${receiveBufferBytes} bytes: raise net.core.rmem_max.`);
    }
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  await Promise.race(signals.map((signal) => once(process, signal)));
  collector.close();
}

/** Runs a collector of the fleet, which control tells its listeners, exporters and prefixes. */
async function runFleetCollector(options: CollectorOptions): Promise<void> {
  const { link, listen, exporter, prefix, credentialFile } = options;
  if ((listen ?? exporter ?? prefix) !== undefined) {
    throw usageError(
      'with --link or --credential-file, the fleet file defines --listen, --exporter and --prefix: leave them out',
    );
  }
  const credential =
    credentialFile === undefined
      ? process.env['PORTCULLIS_COLLECTOR_CREDENTIAL']
      : readCredential(credentialFile);
  const name = options.name ?? nameIn(credential ?? null);
  if (name === null) throw usageError('--link needs --name: which collector of the fleet');
  if (link === undefined && nameIn(credential ?? null) === null) {
    throw usageError('this credential is for the socket of control on this host: give --link');
  }
  if (!credential) {
    throw usageError(
      `there is no credential: portcullis collectors enrol ${name} --save FILE makes one on the host of control; give it here with --credential-file or PORTCULLIS_COLLECTOR_CREDENTIAL`,
    );
  }
  const { collectorProcess, runAgent } = await import('../../agents/processes.ts');
  const config = { name, linkPath: resolve(link ?? '.'), credential };
  await runAgent(
    (renewed) => collectorProcess({ ...config, credential: renewed ?? credential }, process.env),
    { credentialFile: credentialFile ?? null },
  );
}

function reportJson(summary: FlowSummary, counters: CollectorCounters): void {
  print(JSON.stringify({ ...summary, counters }));
}

function reportLines(summary: FlowSummary, counters: CollectorCounters): void {
  const { at, destinations, top, events } = summary;
  const { records, lost, unknownExporters, malformed, socketDrops } = counters;
  const problems = Object.entries({
    lost,
    'from unknown exporters': unknownExporters,
    malformed,
    'templates refused': counters.templatesRefused,
    'without a template': counters.withoutTemplate,
    'without traffic': counters.withoutTraffic,
    'refused as more than a line can carry': counters.implausible,
    dropped: socketDrops,
  })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `, ${count} ${what}`)
    .join('');
  print(styled('dim', `${at} ${destinations} destinations, ${records} records${problems}`));
  for (const { kind, attack } of events) {
    const { subject, type, peakPps, peakBps } = attack;
    const peaks = `${formatPps(peakPps.value)} ${formatBps(peakBps.value)}`;
    print(styled(kind === 'ended' ? 'green' : 'red', `  ${kind}: ${type} on ${subject}, ${peaks}`));
  }
  for (const { ip, pps, bps } of top) print(`  ${ip}  ${formatPps(pps)}  ${formatBps(bps)}`);
}
