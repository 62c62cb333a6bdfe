import { setTimeout as delay } from 'node:timers/promises';
import { coalesce } from '@portcullis/link/coalesce.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { FleetEvents } from '../events.ts';
import { currentGeneration } from '../generations.ts';
import { type EdgeState, lockEdges, markLive, settleUnenforced } from './store.ts';

export interface Confirmation {
  readonly name: string;
  readonly instance: string;
  readonly generation: number;
  readonly refused: readonly { target: string; reason: string; goodGeneration: number }[];
}
export type Confirmed =
  /** The edge is in service, or joins with this confirmation. */
  | { readonly kind: 'counted'; readonly joined: boolean }
  /** Recorded, but the edge observes or has not caught up. */
  | { readonly kind: 'recorded' }
  | { readonly kind: 'unknown' | 'resync' | 'future' }
  | { readonly kind: 'stale'; readonly confirmed: number };

/** Milliseconds in which confirmations that follow others gather, so that a fleet needs few transactions. */
const GATHER_MS = 8;

interface Waiting {
  readonly confirmation: Confirmation;
  readonly resolve: (confirmed: Confirmed) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Records confirmations of edges. Those that arrive while others are recorded share one transaction: all edges of a fleet
 * confirm a generation at about the same time.
 */
export class Confirmations {
  readonly #db: Db;
  readonly #events: Pick<FleetEvents, 'generationsLive'>;
  readonly #recording = coalesce(() => this.#recordWaiting());
  #waiting: Waiting[] = [];
  #recordedAtMs = -Infinity;

  constructor(db: Db, events: Pick<FleetEvents, 'generationsLive'>) {
    this.#db = db;
    this.#events = events;
  }

  /** Records the generation in an edge's kernel, which never decreases, and what is live by it. */
  record(confirmation: Confirmation): Promise<Confirmed> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ confirmation, resolve, reject });
      this.#recording.poke();
    });
  }

  async #recordWaiting(): Promise<null> {
    // The first of many waits for none; the others come within a moment and share a transaction.
    if (performance.now() - this.#recordedAtMs < GATHER_MS * 2) await delay(GATHER_MS);
    // Of one edge, the later ones wait for the next transaction.
    const now = new Map<string, Waiting>();
    const later: Waiting[] = [];
    for (const one of this.#waiting) {
      const { name } = one.confirmation;
      if (now.has(name)) later.push(one);
      else now.set(name, one);
    }
    this.#waiting = later;
    try {
      const confirmations = [...now.values()].map(({ confirmation }) => confirmation);
      const results = await this.#db
        .transaction()
        .execute((tx) => recordConfirmations(tx, confirmations));
      if ([...results.values()].some(({ kind }) => kind === 'counted')) {
        this.#events.generationsLive(await markLive(this.#db));
      }
      for (const [name, { resolve }] of now) resolve(results.get(name) ?? { kind: 'unknown' });
    } catch (error) {
      for (const { reject } of now.values()) reject(error);
    }
    this.#recordedAtMs = performance.now();
    if (later.length > 0) this.#recording.poke();
    return null;
  }
}

interface Counted {
  readonly edge: EdgeState;
  readonly confirmation: Confirmation;
}

/** At most one of each edge. What there is no edge for has no result. */
async function recordConfirmations(
  tx: Tx,
  confirmations: readonly Confirmation[],
): Promise<Map<string, Confirmed>> {
  const edges = await lockEdges(
    tx,
    confirmations.map(({ name }) => name),
  );
  const accepted = await currentGeneration(tx);
  const results = new Map<string, Confirmed>();
  const counted: Counted[] = [];
  for (const confirmation of confirmations) {
    const edge = edges.get(confirmation.name);
    if (edge === undefined) continue;
    const result = await assess(tx, edge, confirmation, accepted);
    results.set(confirmation.name, result);
    if (result.kind === 'counted') counted.push({ edge, confirmation });
  }
  const seen = [...edges.values()].filter(({ settings }) => {
    const kind = results.get(settings.name)?.kind;
    return kind === 'counted' || kind === 'recorded';
  });
  await sql`
    update edges set last_seen_at = clock_timestamp()
     where id = any (${seen.map(({ id }) => id)}::bigint[])`.execute(tx);
  await count(tx, counted);
  return results;
}

/** An edge that joins is compared with what the others confirmed before, so all that join together may. */
async function assess(
  tx: Tx,
  edge: EdgeState,
  { instance, generation }: Confirmation,
  accepted: number,
): Promise<Confirmed> {
  if (edge.instance !== instance) return { kind: 'resync' };
  if (generation > accepted) return { kind: 'future' };
  const counts =
    edge.inService ||
    (edge.mode === 'enforce' &&
      generation >= Math.max(edge.joinsAtGeneration, await loadOthers(tx, edge)));
  if (!counts) return { kind: 'recorded' };
  if (generation < edge.confirmedGeneration) {
    return { kind: 'stale', confirmed: edge.confirmedGeneration };
  }
  return { kind: 'counted', joined: !edge.inService };
}

/**
 * The newest generation of the edges in service that share addresses with one that joins. Joining below that would
 * revert what readers have already seen as live.
 */
async function loadOthers(tx: Tx, edge: EdgeState): Promise<number> {
  const { rows } = await sql<{ others: number }>`
    select coalesce(max(e.confirmed_generation), 0) as others from edges e
     where e.in_service and e.id <> ${edge.id}
       and exists (select from unnest(e.serves) a, unnest(${edge.serves}::cidr[]) b where a && b)`.execute(
    tx,
  );
  return rows[0]?.others ?? 0;
}

async function count(tx: Tx, counted: readonly Counted[]): Promise<void> {
  if (counted.length === 0) return;
  const joining = counted.filter(({ edge }) => !edge.inService);
  if (joining.length > 0) {
    const first = Math.min(...joining.map(({ confirmation }) => confirmation.generation));
    await settleUnenforced(tx, first);
  }
  const ids = counted.map(({ edge }) => edge.id);
  const generations = counted.map(({ confirmation }) => confirmation.generation);
  await sql`
    update edges set confirmed_generation = confirmed.generation, in_service = true, left_service_at = null,
           enforcing_since = coalesce(enforcing_since, clock_timestamp())
      from unnest(${ids}::bigint[], ${generations}::bigint[]) as confirmed (id, generation)
     where edges.id = confirmed.id`.execute(tx);
  await replaceRefusals(tx, counted);
}

/** Only a target that is refused anew is a new row, because each new row is an event (`propagation.failed`). */
async function replaceRefusals(tx: Tx, counted: readonly Counted[]): Promise<void> {
  const refusals = counted.flatMap(({ edge, confirmation: { refused, generation } }) =>
    refused.map((one) => ({
      edge: edge.id,
      target: one.target,
      reason: one.reason,
      good: Math.min(one.goodGeneration, generation),
    })),
  );
  const refused = sql`unnest(${refusals.map(({ edge }) => edge)}::bigint[],
    ${refusals.map(({ target }) => target)}::cidr[], ${refusals.map(({ reason }) => reason)}::text[],
    ${refusals.map(({ good }) => good)}::bigint[]) as refused (edge_id, target, reason, good)`;
  await sql`
    delete from edge_refusals
     where edge_id = any (${counted.map(({ edge }) => edge.id)}::bigint[])
       and (edge_id, target) not in (select edge_id, target from ${refused})`.execute(tx);
  if (refusals.length === 0) return;
  await sql`
    insert into edge_refusals (edge_id, target, reason, good_generation)
    select distinct on (edge_id, target) edge_id, target, reason, good from ${refused}
     order by edge_id, target
    on conflict (edge_id, target) do update
       set reason = excluded.reason, good_generation = excluded.good_generation
     where (edge_refusals.reason, edge_refusals.good_generation)
           is distinct from (excluded.reason, excluded.good_generation)`.execute(tx);
}
