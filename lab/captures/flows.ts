import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilterType } from '@portcullis/core/filters/catalogue.ts';
import type { Filter, Transport } from '@portcullis/core/filters/filter.ts';

/** Packets that a test of a filter sent to its server, or its server from there. */
export interface Flow {
  readonly type: FilterType;
  readonly transport: Transport;
  readonly way: 'to' | 'from';
  readonly length: number;
  /** The first 64 bytes of the payload as hex, which are all that a signature reads. */
  readonly start: string;
}

/** A line for each: type, transport, way, length and start. */
export const FLOWS_FILE = join(import.meta.dirname, 'flows.txt');

/** Flows by real programs, and by both sides written from a protocol. */
export function loadFlows(): Flow[] {
  const lines = readFileSync(FLOWS_FILE, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [type, transport, way, length, start] = line.split(' ');
    return { type, transport, way, length: Number(length), start } as Flow;
  });
}

/** All others take any protocol. */
export function hasProtocol({ udp, tcp }: Filter): boolean {
  return (udp?.greetings.length ?? 0) + (tcp?.openings.length ?? 0) > 0;
}

/** Payloads of one connection that count, and of one filter. */
const OF_CONNECTION = { udp: 3, tcp: 1 } as const;
const OF_FILTER = 12;

/**
 * Reads the lines of record.py, and returns those of the file: the first payloads of connections, each once, of their
 * clients, and on UDP of their servers.
 */
export function parseRecording(type: string, text: string): string[] {
  const ofConnection = new Map<string, number>();
  const ofWay = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [transport, peer = '', way = '', ...payload] = line.split(' ');
    if ((transport !== 'udp' && transport !== 'tcp') || (transport === 'tcp' && way === 'from'))
      continue;
    const connection = `${transport} ${peer} ${way}`;
    const count = (ofConnection.get(connection) ?? 0) + 1;
    ofConnection.set(connection, count);
    const found = ofWay.get(`${transport} ${way}`) ?? new Set();
    ofWay.set(`${transport} ${way}`, found);
    if (count <= OF_CONNECTION[transport] && found.size < OF_FILTER) found.add(payload.join(' '));
  }
  return [...ofWay].flatMap(([way, found]) => [...found].map((one) => `${type} ${way} ${one}`));
}
