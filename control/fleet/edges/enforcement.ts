import { sql } from 'kysely';
import type { EdgeMode } from '@portcullis/link/messages/edge.ts';
import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { Db } from '../../db/database.ts';
import { readReport } from './status.ts';

/** `partial`: an edge is out of service or lacks a device, or a target is refused. `none`: no edge enforces. */
export type EnforcementState = 'full' | 'partial' | 'none';

export interface EdgeEnforcement {
  readonly name: string;
  readonly site: string;
  /** Null when the edge never connected. */
  readonly mode: EdgeMode | null;
  /** Why it only observes or has no device, or until when it is on trial. */
  readonly modeReason: string | null;
  /** Its mode is to enforce, by a device that packets can come in by, and it has confirmed so once. */
  readonly enforcing: boolean;
  /** No packet can come in by some of its devices. */
  readonly lacksDevice: boolean;
  readonly inService: boolean;
  readonly confirmedGeneration: number;
  readonly refusedTargets: number;
  /** Null when the edge never connected. */
  readonly silentMs: number | null;
  /** Its last report, or null. */
  readonly report: EdgeReport | null;
}
export interface Enforcement {
  readonly state: EnforcementState;
  /** Sentences for the operator: what is enforced, and by which edges. */
  readonly detail: string;
  readonly generation: number;
  readonly edges: readonly EdgeEnforcement[];
}
export interface EnforcementReader {
  /** Returns a state that is at most `maxAgeMs` old. */
  read(): Promise<Enforcement>;
}

/** Lets a busy API query the database once for many requests. */
const MAX_AGE_MS = 500;

export function createEnforcement(options: {
  readonly db: Db;
  readonly maxAgeMs?: number;
}): EnforcementReader {
  const maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS;
  let cached: { readonly value: Promise<Enforcement>; readonly atMs: number } | null = null;
  return {
    read() {
      const now = performance.now();
      if (cached !== null && now - cached.atMs < maxAgeMs) return cached.value;
      const value = loadEnforcement(options.db);
      const entry = { value, atMs: now };
      cached = entry;
      value.catch(() => {
        if (cached === entry) cached = null;
      });
      return value;
    },
  };
}

async function loadEnforcement(db: Db): Promise<Enforcement> {
  const { rows } = await sql<Row>`
    select fleet.generation, e.name, e.site, e.mode, e.mode_reason as "modeReason",
           e.enforcing_since is not null and e.mode = 'enforce' as enforcing,
           e.lacks_device as "lacksDevice", e.in_service as "inService",
           e.confirmed_generation as "confirmedGeneration",
           (select count(*) from edge_refusals r where r.edge_id = e.id) as "refusedTargets",
           (extract(epoch from clock_timestamp() - e.last_seen_at) * 1000)::float8 as "silentMs",
           e.report
      from fleet left join edges e on true order by e.name`.execute(db);
  const generation = rows[0]?.generation ?? 0;
  const edges = rows.flatMap((row) =>
    row.name === null ? [] : [edgeOf({ ...row, name: row.name })],
  );
  return { ...describeEnforcement(edges), generation, edges };
}

/** The columns of an edge are null when there is no edge. */
interface Row extends Omit<EdgeEnforcement, 'name' | 'report'> {
  readonly generation: number;
  readonly name: string | null;
  readonly report: unknown;
}

function edgeOf(row: Row & { readonly name: string }): EdgeEnforcement {
  const { generation: _, report, ...edge } = row;
  return { ...edge, report: readReport(report) };
}

/** Pure: summarises the enforcement of a fleet. */
export function describeEnforcement(
  edges: readonly EdgeEnforcement[],
): Pick<Enforcement, 'state' | 'detail'> {
  const enforcing = edges.filter((edge) => edge.enforcing);
  if (enforcing.length === 0) return { state: 'none', detail: nothingEnforces(edges) };
  const away = enforcing.filter((edge) => !edge.inService);
  const refusing = enforcing.filter((edge) => edge.inService && edge.refusedTargets > 0);
  const lacking = edges.filter((edge) => edge.mode === 'no_device');
  const partial = enforcing.filter((edge) => edge.inService && edge.lacksDevice);
  if ([away, refusing, lacking, partial].every(({ length }) => length === 0)) {
    return {
      state: 'full',
      detail: `${count(enforcing.length, 'edge')} in service, none refuses anything.`,
    };
  }
  const sentences = [
    `${enforcing.length - away.length} of ${count(enforcing.length, 'enforcing edge')} in service.`,
  ];
  if (away.length > 0) {
    sentences.push(
      `Out of service, enforcing what they have: ${away.map(withSilence).join(', ')}.`,
    );
  }
  if (lacking.length > 0) sentences.push(withoutDevice(lacking));
  if (partial.length > 0) {
    const names = partial.map(({ name }) => name).join(', ');
    sentences.push(`Enforced on some of the devices only: ${names}.`);
  }
  if (refusing.length > 0) {
    const list = refusing.map((edge) => `${edge.name} (${count(edge.refusedTargets, 'target')})`);
    sentences.push(`Some addresses stay at an older state on ${list.join(', ')}.`);
  }
  return { state: 'partial', detail: sentences.join(' ') };
}

function nothingEnforces(edges: readonly EdgeEnforcement[]): string {
  const observing = edges.filter((edge) => edge.mode === 'observe');
  const lacking = edges.filter((edge) => edge.mode === 'no_device');
  if (observing.length === 0 && lacking.length === 0) {
    return 'Nothing is enforced: no edge enforces. Rules are accepted and stored; packets are not filtered by them.';
  }
  const sentences = observing.length === 0 ? [] : [`Edges only observe: ${listOf(observing)}.`];
  if (lacking.length > 0) sentences.push(withoutDevice(lacking));
  return `Nothing is enforced. ${sentences.join(' ')}`;
}

function withoutDevice(edges: readonly EdgeEnforcement[]): string {
  return `Edges without a device enforce nothing: ${listOf(edges)}.`;
}

function listOf(edges: readonly EdgeEnforcement[]): string {
  return edges
    .map(({ name, modeReason }) => (modeReason === null ? name : `${name} (${modeReason})`))
    .join(', ');
}

function withSilence(edge: EdgeEnforcement): string {
  if (edge.silentMs === null) return edge.name;
  return `${edge.name} (last seen ${Math.round(edge.silentMs / 1000)} s ago)`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
