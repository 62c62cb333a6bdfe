import { setTimeout as delay } from 'node:timers/promises';
import { coalesce } from '@portcullis/link/coalesce.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { FleetEvents } from '../events.ts';
import { currentGeneration } from '../generations.ts';
import {
  type EdgeState,
  lockEdges,
  markLive,
  raiseUnconcerned,
  settleUnenforced,
  unchangedUntil,
} from './store.ts';

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
      const { results, counted } = await this.#db
        .transaction()
        .execute((tx) => recordConfirmations(tx, confirmations));
      if (counted.length > 0) {
        // Generations that were accepted meanwhile, and do not concern the edges, were not raised for them.
        await raiseUnconcerned(this.#db, counted);
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
  /** The generation that the edge has by it, or a later one that changed nothing for the edge. */
  readonly reached: number;
}
interface Recorded {
  readonly results: ReadonlyMap<string, Confirmed>;
  /** Names of the edges that are in service, with what they confirmed. */
  readonly counted: readonly string[];
}

/** At most one of each edge. What there is no edge for has no result. */
async function recordConfirmations(
  tx: Tx,
  confirmations: readonly Confirmation[],
): Promise<Recorded> {
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
    const { reached = null, ...result } = await assess(tx, edge, confirmation, accepted);
    results.set(confirmation.name, result);
    if (reached !== null) counted.push({ edge, confirmation, reached });
  }
  const recorded = [...edges.values()].filter(
    ({ settings }) => results.get(settings.name)?.kind === 'recorded',
  );
  if (recorded.length > 0) {
    await sql`
      update edges set last_seen_at = clock_timestamp()
       where id = any (${recorded.map(({ id }) => id)}::bigint[])`.execute(tx);
  }
  await count(tx, counted);
  return { results, counted: counted.map(({ edge }) => edge.settings.name) };
}

/**
 * An edge that joins is compared with what the others confirmed before, so all that join together may. Generations that do
 * not concern an edge count as confirmed, so it may be said to have a later one than it confirms.
 */
async function assess(
  tx: Tx,
  edge: EdgeState,
  { instance, generation }: Confirmation,
  accepted: number,
): Promise<Confirmed & { readonly reached?: number }> {
  if (edge.instance !== instance) return { kind: 'resync' };
  if (generation > accepted) return { kind: 'future' };
  const { inService, confirmedGeneration, ownGeneration } = edge;
  if (!inService && edge.mode !== 'enforce') return { kind: 'recorded' };
  const wanted = inService ? confirmedGeneration : await loadWanted(tx, edge);
  if (!inService && !(await hasReached(tx, edge, generation, wanted))) return { kind: 'recorded' };
  // Generations never go back, also where an older confirmation overtakes: what was refused may differ. One that is not
  // older is never refused: it may say that the kernel lost something. It counts for as much as the edge did, because an
  // edge in service is only raised over what changes nothing for it. What it serves and what is kept may differ by now.
  if (generation < ownGeneration) {
    return { kind: 'stale', confirmed: Math.max(confirmedGeneration, ownGeneration) };
  }
  return { kind: 'counted', joined: !inService, reached: Math.max(generation, wanted) };
}

/** Joining below what the edge had, or what others have, would revert what readers have already seen as live. */
async function loadWanted(tx: Tx, edge: EdgeState): Promise<number> {
  const { joinsAtGeneration, confirmedGeneration } = edge;
  return Math.max(joinsAtGeneration, confirmedGeneration, await loadOthers(tx, edge));
}

async function hasReached(
  tx: Tx,
  edge: EdgeState,
  generation: number,
  wanted: number,
): Promise<boolean> {
  return generation >= wanted || (await unchangedUntil(tx, edge, generation)) >= wanted;
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
    const first = Math.min(...joining.map(({ reached }) => reached));
    await settleUnenforced(tx, first);
  }
  const ids = counted.map(({ edge }) => edge.id);
  const own = counted.map(({ confirmation }) => confirmation.generation);
  const reached = counted.map((one) => one.reached);
  // The row is wide, so it is written once, also with when the edge was seen.
  await sql`
    update edges set last_seen_at = clock_timestamp(),
           confirmed_generation = confirmed.reached, raised_generation = confirmed.reached,
           own_generation = confirmed.own, in_service = true, left_service_at = null,
           enforcing_since = coalesce(enforcing_since, clock_timestamp())
      from unnest(${ids}::bigint[], ${own}::bigint[], ${reached}::bigint[]) as confirmed (id, own, reached)
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
