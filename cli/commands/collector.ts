import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import type { Thresholds } from '@portcullis/core/attacks/attack.ts';
import { detailOf } from '@portcullis/core/attacks/detector.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { Collector, type CollectorCounters } from '@portcullis/collector/collector.ts';
import { parseCount, parseExporters, parseListen, parsePrefixes } from '../collector/options.ts';
import { Watch, type WatchedSecond } from '../collector/watch.ts';
import { failed, unavailable, usageError } from '../exit.ts';
import { readCredential } from '../node-credential.ts';
import { parseDuration } from '../options.ts';
import { print, styled, warn } from '../output.ts';
import type { CollectorCommandOptions } from '../program/collector.ts';
import { collectorProcess } from '../up/collector-launch.ts';

const MAX_TOP = 1000;
/** What the kernel gives without being asked; a busy exporter fills it in no time. */
const SMALL_BUFFER_BYTES = 1024 * 1024;
const MAX_SUBJECTS = 20_000;
const MAX_PPS = 999_999_999;
const MAX_MBPS = 999_999_999;

/** `portcullis collector`: until a signal ends it. */
export async function runCollector(options: CollectorCommandOptions): Promise<void> {
  if (options.link !== undefined) return runLinked(options, options.link);
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
  const tell = options.json === true ? tellJson : tellLines;
  const watch = new Watch({ thresholdsOf: () => thresholds, maxSubjects: MAX_SUBJECTS });
  const onSample = (sample: Sample): void => {
    watch.add(sample);
    if (watch.hasNews) tell(watch.take(top), collector.counters());
  };
  const collector: Collector = await Collector.open({
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
      warn(`The kernel gives ${receiveBufferBytes} bytes of buffer: raise net.core.rmem_max.`);
    }
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  await Promise.race(signals.map((signal) => once(process, signal)));
  collector.close();
}

/** As one of the fleet: what is listened to and what is protected, control says. */
async function runLinked(options: CollectorCommandOptions, link: string): Promise<void> {
  const { name, listen, exporter, prefix, credentialFile } = options;
  if (name === undefined) throw usageError('--link needs --name: which collector of the fleet');
  if ((listen ?? exporter ?? prefix) !== undefined) {
    throw usageError('with --link, the fleet file says what is listened to and protected');
  }
  const credential =
    credentialFile === undefined
      ? process.env['PORTCULLIS_COLLECTOR_CREDENTIAL']
      : readCredential(credentialFile);
  if (!credential) {
    throw usageError(
      `there is no credential: portcullis collectors enrol ${name} --save FILE makes one where control is; bring it here with --credential-file or PORTCULLIS_COLLECTOR_CREDENTIAL`,
    );
  }
  const spec = collectorProcess({ name, linkPath: resolve(link), credential }, process.env);
  const child = spawn(spec.command, spec.args, {
    env: spec.env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill('SIGTERM'));
  }
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0) throw failed(`the collector ended with ${signal ?? `exit code ${code}`}`);
}

function tellJson(second: WatchedSecond, counters: CollectorCounters): void {
  print(JSON.stringify({ ...second, counters }));
}

function tellLines(second: WatchedSecond, counters: CollectorCounters): void {
  const { at, destinations, top, events } = second;
  const { records, lost, strangers, malformed, socketDrops } = counters;
  const troubles = Object.entries({ lost, strangers, malformed, dropped: socketDrops })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `, ${count} ${what}`)
    .join('');
  print(styled('dim', `${at} ${destinations} destinations, ${records} records${troubles}`));
  for (const { kind, attack } of events) {
    const { subject, type, peakPps, peakBps } = attack;
    const peaks = `${formatPps(peakPps.value)} ${formatBps(peakBps.value)}`;
    print(styled(kind === 'ended' ? 'green' : 'red', `  ${kind}: ${type} on ${subject}, ${peaks}`));
  }
  for (const { ip, pps, bps } of top) print(`  ${ip}  ${formatPps(pps)}  ${formatBps(bps)}`);
}
