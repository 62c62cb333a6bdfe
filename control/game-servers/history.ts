import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { timeView } from '../http/operations/view.ts';

const KEPT_HOURS = 24;
const MAX_EVENTS = 1000;
/** Over a longer gap a rate says nothing. */
const MAX_GAP_SECONDS = 300;

export interface SampleRow {
  readonly at: Date;
  readonly memoryBytes: number;
  readonly cpuAbsolute: number;
  readonly diskBytes: number;
  /** Since the start of the server. */
  readonly networkRxBytes: number;
  readonly networkTxBytes: number;
}

interface EventRow {
  readonly at: Date;
  readonly kind: string;
  readonly state: string | null;
  readonly from: string | null;
}

export interface ServerHistory {
  readonly from: Date;
  readonly to: Date;
  readonly samples: readonly SampleRow[];
  readonly events: readonly EventRow[];
}

/** The last day of a server. */
export async function loadHistory(db: Db, uuid: string): Promise<ServerHistory> {
  const to = new Date();
  const from = new Date(to.getTime() - KEPT_HOURS * 3_600_000);
  const samples = await sql<SampleRow>`
    select minute as at, memory_bytes as "memoryBytes", cpu_absolute as "cpuAbsolute",
           disk_bytes as "diskBytes", network_rx_bytes as "networkRxBytes",
           network_tx_bytes as "networkTxBytes"
      from server_samples where uuid = ${uuid} and minute >= ${from} order by minute`.execute(db);
  const events = await sql<EventRow>`
    select at, kind, data ->> 'state' as state, data ->> 'from' as "from"
      from events where target = ${uuid} and kind like 'server.%' and at >= ${from}
     order by at desc, id desc limit ${MAX_EVENTS}`.execute(db);
  return { from, to, samples: samples.rows, events: events.rows.toReversed() };
}

export function historyView({ from, to, samples, events }: ServerHistory) {
  return {
    data: {
      samples: samples.map((sample, index) => sampleView(sample, samples[index - 1])),
      events: events.map(({ at, ...event }) => ({ at: timeView(at), ...event })),
    },
    meta: { from: timeView(from), to: timeView(to) },
  };
}

export function sampleView(sample: SampleRow, before: SampleRow | undefined) {
  const { at, memoryBytes, cpuAbsolute, diskBytes } = sample;
  const rate = (of: (row: SampleRow) => number): number | null => {
    if (before === undefined) return null;
    const seconds = (at.getTime() - before.at.getTime()) / 1000;
    const bytes = of(sample) - of(before);
    return seconds > MAX_GAP_SECONDS || bytes < 0 ? null : bytes / seconds;
  };
  return {
    at: timeView(at),
    memory_bytes: memoryBytes,
    cpu_absolute: cpuAbsolute,
    disk_bytes: diskBytes,
    network_rx_bytes_per_second: rate(({ networkRxBytes }) => networkRxBytes),
    network_tx_bytes_per_second: rate(({ networkTxBytes }) => networkTxBytes),
  };
}
