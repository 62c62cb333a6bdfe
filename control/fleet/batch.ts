import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';
import type { Owner } from '../db/schema.ts';
import { takeGeneration } from './generations.ts';

/** Tables whose rows belong to generations. */
export type GenerationalTable =
  | 'group_rules'
  | 'group_filters'
  | 'group_assignments'
  | 'geo_rules'
  | 'geo_assignments'
  | 'baseline_rules';

/**
 * What rows carry between being written and their batch landing. No generation is 0, nobody outside the
 * transaction sees it, and `land` replaces it: so many writes share one generation, taken last.
 */
const NOT_LANDED = 0;

/** The columns of a row that begins with this batch. */
export const BEGINS = { created_generation: NOT_LANDED } as const;

/**
 * Several firewall and fleet writes of one transaction that become one generation.
 *
 * Functions given a batch write through `batch.tx` and say what they touched; whoever opened the
 * transaction calls `land` as its last step. A batch that does not land must be rolled back.
 */
export class Batch {
  readonly tx: Tx;
  /** Whose side writes: the other side's objects are refused. */
  readonly owner: Owner;
  readonly #targets = new Set<string>();
  readonly #begun = new Map<GenerationalTable, Set<number>>();
  readonly #ended = new Map<GenerationalTable, Set<number>>();
  #marked = false;

  constructor(tx: Tx, owner: Owner) {
    this.tx = tx;
    this.owner = owner;
  }

  /** These addresses or CIDRs may be judged differently from now on. */
  touch(...targets: readonly string[]): void {
    this.#marked = true;
    for (const target of targets) this.#targets.add(target);
  }

  /** Something that edges must hear of changed, though no policy did: an edge's own settings. */
  mark(): void {
    this.#marked = true;
  }

  begin(table: GenerationalTable, ids: Iterable<number>): void {
    note(this.#begun, table, ids);
  }

  /** Marks rows as deleted. They are kept: history and older generations read them. */
  async end(table: GenerationalTable, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await sql`
      update ${sql.table(table)} set deleted_generation = ${NOT_LANDED}, deleted_at = now()
       where id = any(${ids}::bigint[]) and deleted_generation is null
    `.execute(this.tx);
    note(this.#ended, table, ids);
  }

  /** Takes the generation, and gives it to every row. Null: nothing was changed, none was taken. */
  async land(cause: string): Promise<number | null> {
    if (!this.#marked && this.#begun.size === 0 && this.#ended.size === 0) return null;
    const generation = await takeGeneration(this.tx, { cause, targets: [...this.#targets] });
    await this.#stamp('created_generation', this.#begun, generation);
    await this.#stamp('deleted_generation', this.#ended, generation);
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

function note(
  into: Map<GenerationalTable, Set<number>>,
  table: GenerationalTable,
  ids: Iterable<number>,
): void {
  const known = into.get(table) ?? new Set<number>();
  for (const id of ids) known.add(id);
  if (known.size > 0) into.set(table, known);
}
