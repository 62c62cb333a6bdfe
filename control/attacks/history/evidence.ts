import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { secondView } from './views.ts';

/** Stored evidence of any version, read as far as it is valid. */
interface StoredAttack {
  readonly shares?: unknown;
  readonly peakPps?: unknown;
  readonly peakBps?: unknown;
  readonly tops?: unknown;
  readonly limits?: unknown;
  readonly series?: unknown;
}

interface Row {
  readonly openedAt: Date;
  readonly evidence: StoredAttack;
}

/** Nineteen of twenty means are within. */
const STANDARD_ERRORS = 2;

type Json = Readonly<Record<string, unknown>>;

/** The evidence of an attack beside its record. Null if none was stored. */
export async function loadEvidence(
  db: Db,
  attack: { readonly id: number; readonly startedAt: Date; readonly mitigatedAt: Date | null },
) {
  const { rows } = await sql<Row>`
    select opened_at as "openedAt", evidence from attack_evidence
     where attack_id = ${attack.id} order by opened_at limit 1`.execute(db);
  const [row] = rows;
  if (row === undefined) return null;
  const { openedAt, evidence } = row;
  const { mitigatedAt, startedAt } = attack;
  const tops = objectOf(evidence.tops);
  return {
    detected_at: secondView(openedAt),
    detected_after_ms: betweenMs(startedAt, openedAt),
    mitigated_after_ms: mitigatedAt && betweenMs(openedAt, mitigatedAt),
    shares: listOf(evidence.shares).flatMap((one) => {
      const { type, share } = one;
      return typeof type === 'string' && typeof share === 'number'
        ? [{ attack_type: type, share: Math.min(1, Math.max(0, share)) }]
        : [];
    }),
    threshold: thresholdOf(evidence.limits),
    peak_pps_bounds: boundsOf(evidence.peakPps),
    peak_bps_bounds: boundsOf(evidence.peakBps),
    counted_packets: countedOf(tops['sampled']),
    top_sources: sourcesOf(tops['sources']),
    top_source_ports: portsOf(tops['sourcePorts']),
    top_destination_ports: portsOf(tops['destinationPorts']),
    series: seriesOf(evidence.series),
  };
}

/** Packets that each source sent by all protocols, largest first. */
function sourcesOf(value: unknown) {
  const sums = new Map<string, number>();
  for (const { source, packets } of listOf(value)) {
    if (typeof source === 'string') sums.set(source, (sums.get(source) ?? 0) + natural(packets));
  }
  return [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .map(([source, packets]) => ({ source_ip: source, packets: natural(packets) }));
}

function betweenMs(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime());
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? (value as unknown[]).map(objectOf) : [];
}

function natural(value: unknown): number {
  const number = typeof value === 'number' && Number.isFinite(value) ? Math.round(value) : 0;
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, number));
}

function countedOf(sampled: unknown): number | null {
  const { packets } = objectOf(sampled);
  return typeof packets === 'number' ? natural(packets) : null;
}

function boundsOf(value: unknown) {
  const { low, high } = objectOf(value);
  return typeof low !== 'number' || typeof high !== 'number'
    ? null
    : { low: natural(low), high: natural(high) };
}

function thresholdOf(value: unknown) {
  const { pps, bps } = objectOf(value);
  return typeof pps !== 'number' || typeof bps !== 'number'
    ? null
    : { pps: natural(pps), bps: natural(bps) };
}

function portsOf(value: unknown) {
  return listOf(value).flatMap(({ port, protocol, packets }) => {
    if (typeof port !== 'number' || port < 0 || port > 65_535) return [];
    const known = protocol === 'tcp' || protocol === 'udp' ? protocol : null;
    return [{ port, protocol: known, packets: natural(packets) }];
  });
}

function seriesOf(value: unknown) {
  const { startMs, stepMs, pps, bps, ppsVariance, bpsVariance } = objectOf(value);
  if (typeof startMs !== 'number' || typeof stepMs !== 'number') return null;
  const numbers = (list: unknown): unknown[] => (Array.isArray(list) ? (list as unknown[]) : []);
  const rates = (list: unknown): number[] => numbers(list).map(natural);
  const errorOf = (variance: unknown): number =>
    typeof variance === 'number'
      ? natural(STANDARD_ERRORS * Math.sqrt(variance / (stepMs / 1000)))
      : 0;
  const errors = (list: unknown): number[] | null =>
    list === undefined ? null : numbers(list).map(errorOf);
  return {
    from: secondView(new Date(startMs)),
    step_ms: natural(stepMs),
    pps: rates(pps),
    bps: rates(bps),
    pps_error: errors(ppsVariance),
    bps_error: errors(bpsVariance),
  };
}
