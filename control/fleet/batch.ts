import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import { Problem } from '../problem.ts';
import { takeGeneration } from './generations.ts';

/** Tables whose rows belong to generations. */
export type GenerationalTable =
  | 'rules'
  | 'group_rules'
  | 'group_filters'
  | 'group_assignments'
  | 'geo_rules'
  | 'geo_assignments'
  | 'default_actions'
  | 'blocked_sources'
  | 'server_openings'
  | 'baseline_rules';

/**
 * The generation of rows before `takeGeneration` sets the real one. No generation is 0, and other transactions never see it.
 * So all writes of a batch share one generation, which is taken last.
 */
const PENDING_GENERATION = 0;

/** The columns of a row that this batch creates. */
export const UNSTAMPED = { created_generation: PENDING_GENERATION } as const;

/**
 * Several firewall and fleet writes of one transaction that become one generation.
 *
 * Functions that get a batch write through `batch.tx` and name the targets that they touch. The owner of the
 * transaction calls `takeGeneration` as its last step, or rolls back.
 */
export class Batch {
  readonly tx: Tx;
  /** The writing side; objects of the other side are refused. */
  readonly owner: Owner;
  readonly #targets = new Set<string>();
  readonly #created = new Map<GenerationalTable, Set<number>>();
  readonly #deleted = new Map<GenerationalTable, Set<number>>();
  #marked = false;
  #everywhere = false;

  constructor(tx: Tx, owner: Owner) {
    this.tx = tx;
    this.owner = owner;
  }

  /** Throws when the other side owns an object; `what` names it: `The group web`. */
  requireOwn(owner: Owner, what: string): void {
    if (owner === this.owner) return;
    if (owner === 'fleet') {
      throw new Problem(
        'managed_by_fleet_file',
        `${what} belongs to the fleet file: change it there.`,
      );
    }
    const side = 'whoever made it by hand: --adopt hands it to the file';
    throw new Problem('invalid_request', `${what} belongs to ${side}.`);
  }

  /** Marks addresses or CIDRs whose policies may change. */
  touch(...targets: readonly string[]): void {
    this.#marked = true;
    for (const target of targets) this.#targets.add(target);
  }

  /** Marks addresses whose own objects began or ended: whether they have any is stored beside them. */
  async touchAddresses(
    addresses: readonly { readonly id: number; readonly ip: string }[],
  ): Promise<void> {
    await sql`
      update addresses a set configured =
             exists (select from rules o where o.address_id = a.id and o.deleted_generation is null)
          or exists (select from filters o where o.address_id = a.id and o.deleted_generation is null)
       where a.id = any(${addresses.map(({ id }) => id)}::bigint[])`.execute(this.tx);
    this.touch(...addresses.map(({ ip }) => ip));
  }

  /** Marks a change that no target names, such as of edge settings: it concerns every edge. */
  mark(): void {
    this.#marked = true;
    this.#everywhere = true;
  }

  begin(table: GenerationalTable, ids: Iterable<number>): void {
    addIds(this.#created, table, ids);
  }

  /** Marks rows as deleted. They are kept for the history and for older generations. */
  async end(table: GenerationalTable, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await sql`
      update ${sql.table(table)} set deleted_generation = ${PENDING_GENERATION}, deleted_at = now()
       where id = any(${ids}::bigint[]) and deleted_generation is null
    `.execute(this.tx);
    addIds(this.#deleted, table, ids);
  }

  /** Takes the generation and stamps every row. Returns null, without taking one, when nothing changed. */
  async takeGeneration(cause: string): Promise<number | null> {
    if (!this.#marked && this.#created.size === 0 && this.#deleted.size === 0) return null;
    const targets = [...this.#targets];
    const everywhere = this.#everywhere;
    const generation = await takeGeneration(this.tx, { cause, targets, everywhere });
    await this.#stamp('created_generation', this.#created, generation);
    await this.#stamp('deleted_generation', this.#deleted, generation);
    return generation;
  }

  async #stamp(
    column: 'created_generation' | 'deleted_generation',
    rows: ReadonlyMap<GenerationalTable, ReadonlySet<number>>,
    generation: number,
  ): Promise<void> {
    for (const [table, ids] of rows) {
      await sql`
        update ${sql.table(table)} set ${sql.ref(column)} = ${generation}
         where id = any(${[...ids]}::bigint[])
      `.execute(this.tx);
    }
  }
}

function addIds(
  into: Map<GenerationalTable, Set<number>>,
  table: GenerationalTable,
  ids: Iterable<number>,
): void {
  const known = into.get(table) ?? new Set<number>();
  for (const id of ids) known.add(id);
  if (known.size > 0) into.set(table, known);
}
