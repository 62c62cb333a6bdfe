import { once } from 'node:events';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import { Collector, type CollectorCounters } from '@portcullis/edge/flows/collector.ts';
import { parseCount, parseExporters, parseListen, parsePrefixes } from '../collector/options.ts';
import { type Destination, Second } from '../collector/second.ts';
import { unavailable } from '../exit.ts';
import { print, styled, warn } from '../output.ts';
import type { CollectorCommandOptions } from '../program/collector.ts';

const MAX_TOP = 1000;
/** What the kernel gives without being asked; a busy exporter fills it in no time. */
const SMALL_BUFFER_BYTES = 1024 * 1024;
/** A subject that gets less in a bucket is no attack's. */
const DETAIL = { packets: 500, bytes: 1_000_000 };

/** `portcullis collector`: until a signal ends it. */
export async function runCollector(options: CollectorCommandOptions): Promise<void> {
  const top = parseCount(options.top, '--top', MAX_TOP);
  const second = new Second();
  const onSample = (sample: Sample): void => {
    second.add(sample);
    if (!second.isOver) return;
    const counters = collector.counters();
    const told = { at: new Date(sample.atMs).toISOString(), ...second.take(top), counters };
    if (options.json === true) print(JSON.stringify(told));
    else describe(told);
  };
  const collector: Collector = await Collector.open({
    listen: options.listen.map(parseListen),
    exporters: parseExporters(options.exporter),
    prefixes: parsePrefixes(options.prefix),
    detail: DETAIL,
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

interface ToldSecond {
  readonly at: string;
  readonly destinations: number;
  readonly top: readonly Destination[];
  readonly counters: CollectorCounters;
}

function describe({ at, destinations, top, counters }: ToldSecond): void {
  const { records, lost, strangers, malformed, socketDrops } = counters;
  const troubles = Object.entries({ lost, strangers, malformed, dropped: socketDrops })
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `, ${count} ${what}`)
    .join('');
  print(styled('dim', `${at} ${destinations} destinations, ${records} records${troubles}`));
  for (const { ip, pps, bps } of top) print(`  ${ip}  ${formatPps(pps)}  ${formatBps(bps)}`);
}
