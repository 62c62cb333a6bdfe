import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { dropWindow } from '../drops/read.ts';
import { type DropWindow, loadHeldSince } from '../drops/store.ts';
import type { AddressState } from '../objects.ts';
import { loadAddress } from '../store.ts';

/** Sampled packets of one source to one port. */
export interface PassedRow {
  readonly protocol: number;
  /** Null if the protocol has none. */
  readonly port: number | null;
  readonly source: string;
  readonly packets: number;
  readonly lastAt: Date;
}

/** Samples that passed to an address that the caller holds, of the last day. */
export interface Samples {
  /** The state that is accepted. */
  readonly state: AddressState;
  readonly window: DropWindow;
  /** Most packets first. */
  readonly rows: readonly PassedRow[];
  /** The edges that sampled. */
  readonly edges: readonly string[];
  /** False: there were more rows. */
  readonly isComplete: boolean;
}

const MAX_ROWS = 5_000;
/** How many are evaluated before the requests of others have a turn: a few milliseconds. */
const PER_TURN = 50;

/** The rows, with turns of others in between: to evaluate all takes a tenth of a second. */
export async function* inTurns(rows: readonly PassedRow[]): AsyncGenerator<PassedRow, void> {
  for (const [at, row] of rows.entries()) {
    if (at % PER_TURN === PER_TURN - 1) await nextTurn();
    yield row;
  }
}

/** Throws 404. */
export async function loadSamples(
  tx: Tx,
  { by: caller, params: { ip } }: AddressCall,
): Promise<Samples> {
  const state = await loadAddress(tx, 'accepted', caller, ip);
  const since = state && (await loadHeldSince(tx, state.holdingId));
  if (state === null || since === null) throw notHeld();
  const window = dropWindow({}, since, new Date());
  const of = { holdingId: state.holdingId, ip, window };
  const rows = await loadPassed(tx, of);
  return {
    state,
    window,
    rows,
    edges: await loadEdges(tx, of),
    isComplete: rows.length < MAX_ROWS,
  };
}

interface SamplesOf {
  readonly holdingId: number;
  readonly ip: string;
  readonly window: DropWindow;
}

const matching = ({ holdingId, ip, window }: SamplesOf) => sql`
  s.holding_id = ${holdingId} and s.destination = ${ip}::inet
  and s.hour >= date_trunc('hour', ${window.from}::timestamptz) and s.last_at >= ${window.from}`;

async function loadPassed(tx: Tx, of: SamplesOf): Promise<PassedRow[]> {
  const { rows } = await sql<PassedRow>`
    select s.protocol, nullif(s.destination_port, -1) as port, host(s.source) as source,
           sum(s.packets)::bigint as packets, max(s.last_at) as "lastAt"
      from passed_samples s where ${matching(of)}
     group by s.protocol, s.destination_port, s.source
     order by packets desc, 1, 2, 3 limit ${MAX_ROWS}`.execute(tx);
  // PostgreSQL ends some IPv6 addresses in dotted decimals.
  return rows.map((row) => ({ ...row, source: canonicalAddress(row.source) ?? row.source }));
}

async function loadEdges(tx: Tx, of: SamplesOf): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct e.name from passed_samples s join edges e on e.id = s.edge_id
     where ${matching(of)} order by 1`.execute(tx);
  return rows.map(({ name }) => name);
}

const NAMES: Readonly<Record<number, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  47: 'gre',
  50: 'esp',
  58: 'icmpv6',
};
export function protocolName(number: number): string {
  return NAMES[number] ?? `protocol ${number}`;
}
