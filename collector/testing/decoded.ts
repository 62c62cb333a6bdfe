import assert from 'node:assert/strict';
import type { FlowRecord } from '@portcullis/core/attacks/flow-record.ts';
import { decode } from '../decode/decode.ts';
import { Exporter } from '../exporter/exporter.ts';
import { EXPORT_SECONDS } from './datagrams.ts';

export const NOW_MS = EXPORT_SECONDS * 1000 + 50;
export const TARGET = '203.0.113.10';
export const TARGET_WORDS = [0, 0, 0, 0xcb00710a];

/** The port that an exporter sends from. */
export const PORT = 50_000;

/** The records decoded from datagrams of an exporter, each a copy. */
export function read(exporter: Exporter, ...datagrams: readonly Buffer[]): FlowRecord[] {
  const records: FlowRecord[] = [];
  const emit = (record: FlowRecord): void => {
    records.push({
      ...record,
      source: record.source.slice(),
      destination: record.destination.slice(),
    });
  };
  for (const bytes of datagrams) decode(bytes, { exporter, port: PORT, nowMs: NOW_MS, emit });
  return records;
}

export const created = (rate = 1): Exporter => new Exporter('192.0.2.1', rate);
export const one = (records: readonly FlowRecord[]): FlowRecord => {
  assert.equal(records.length, 1);
  return records[0] as FlowRecord;
};
