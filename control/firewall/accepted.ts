import { sql } from 'kysely';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Db, Tx } from '../db/database.ts';
import { inSnapshot, loadAddressPolicy } from '../fleet/policies/policies.ts';
import { notHeld } from '../http/operations/not-found.ts';
import type { AddressCall } from '../http/operations/operation.ts';
import { loadServingEdges, type ServingEdge } from './held-store.ts';
import { filterKey, ruleKey } from '@portcullis/core/firewall/rules/content.ts';
import {
  type AddressState,
  enforcedGeneration,
  type StoredFilter,
  type StoredRule,
} from './objects.ts';
import { loadAddress } from './store.ts';
import { type Propagation as PropagationTime, readPropagation } from './writes/propagation.ts';

/** `pending`: accepted, not yet live on every edge, or no edge enforces. `going`: deleted, still live on an edge. */
export type Propagation = 'live' | 'pending' | 'going';

/** The accepted and live objects of an address, and the edges that serve it. */
export interface AcceptedAddress {
  readonly state: AddressState;
  readonly rules: readonly (StoredRule & { readonly status: Propagation })[];
  readonly filters: readonly (StoredFilter & { readonly status: Propagation })[];
  readonly edges: readonly ServingEdge[];
  readonly alsoDrops: AlsoDrops;
  readonly propagation: PropagationTime | null;
}

/** Everything that drops packets to an address beside its rules and default. */
export interface AlsoDrops {
  readonly blocked: readonly BlockedList[];
  readonly geo: Policy['geo'];
  readonly baseline: Policy['baseline'];
}

interface BlockedList {
  /** Null: everything that the organisation holds. */
  readonly target: string | null;
  readonly count: number;
  /** The first of them. */
  readonly sources: readonly string[];
}

/** Reads both states in one snapshot: objects in both are live, objects in one are propagating. */
export async function readAccepted(db: Db, call: AddressCall): Promise<AcceptedAddress> {
  return inSnapshot(db, async (tx) => {
    const state = await loadAddress(tx, 'accepted', call.by, call.params.ip);
    const live = await loadAddress(tx, 'live', call.by, call.params.ip);
    if (state === null || live === null) throw notHeld();
    const isEnforced = enforcedGeneration(state) !== null;
    return {
      state,
      rules: merge(state.rules, live.rules, isEnforced).toSorted(byActionThenId),
      filters: merge(state.filters, live.filters, isEnforced).toSorted(byTypeThenPort),
      edges: await loadServingEdges(tx, call.params.ip),
      alsoDrops: await loadAlsoDrops(tx, call.params.ip),
      propagation: await readPropagation(tx),
    };
  });
}

/** Above it a list is not spelled out. */
const NAMED_SOURCES = 100;

async function loadAlsoDrops(tx: Tx, ip: string): Promise<AlsoDrops> {
  const { blocked: names, geo, baseline } = await loadAddressPolicy(tx, ip);
  if (names.length === 0) return { blocked: [], geo, baseline };
  const { rows } = await sql<BlockedList>`
    select abbrev(target::inet) as target, count(*)::int as count,
           (array_agg(abbrev(source::inet) order by id))[:${sql.lit(NAMED_SOURCES)}] as sources
      from blocked_sources
     where deleted_generation is null and blocked_set(organisation_id, holding_id, target) = any (${names})
     group by target order by target nulls last`.execute(tx);
  return { blocked: rows, geo, baseline };
}

interface Identified {
  readonly id: number;
  readonly group: unknown;
}

function merge<T extends Identified>(
  accepted: readonly T[],
  live: readonly T[],
  isEnforced: boolean,
): (T & { status: Propagation })[] {
  const liveKeys = new Set(live.map(keyOf));
  const acceptedKeys = new Set(accepted.map(keyOf));
  const withStatus = (object: T, status: Propagation) => ({ ...object, status });
  const leaving = live.filter((object) => !acceptedKeys.has(keyOf(object)));
  return [
    ...accepted.map((object) =>
      withStatus(object, isEnforced && liveKeys.has(keyOf(object)) ? 'live' : 'pending'),
    ),
    ...leaving.map((object) => withStatus(object, 'going')),
  ];
}

/** Own filters and group filters have separate ids. */
function keyOf(object: Identified): string {
  return `${object.group === null ? 'own' : 'group'} ${object.id}`;
}

function byActionThenId(a: StoredRule, b: StoredRule): number {
  return a.action === b.action ? a.id - b.id : a.action < b.action ? -1 : 1;
}

function byTypeThenPort(a: StoredFilter, b: StoredFilter): number {
  if (a.type !== b.type) return a.type < b.type ? -1 : 1;
  return a.port - b.port || a.id - b.id;
}

/** The state that a replace depends on, for its ETag: own objects only, which change only by writes. */
export function replaceableState(state: Pick<AddressState, 'rules' | 'filters'>): string {
  const rules = state.rules.filter((rule) => rule.group === null);
  const filters = state.filters.filter((filter) => filter.group === null);
  return [
    ...rules.map(
      (rule) => `${rule.id} ${ruleKey(rule)} ${rule.expiresAt?.getTime() ?? ''} ${rule.ref ?? ''}`,
    ),
    ...filters.map((filter) => `${filter.id} ${filterKey(filter)}`),
  ].join('\n');
}
