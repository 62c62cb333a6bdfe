import { sql } from 'kysely';
import { applyChanges, type Made, prepareChanges } from '../../index.ts';
import type { Batch } from '../../../fleet/batch.ts';
import type { FleetChange } from '../plan/change.ts';

export interface CreatedFleetKey {
  readonly organisation: string;
  readonly name: string;
  /** The whole key, which is stored nowhere. */
  readonly key: string;
}

/** Applies the changes of a plan in one transaction, and remembers what earlier changes created. */
export class PlanRun {
  readonly createdKeys: CreatedFleetKey[] = [];
  readonly #batch: Batch;
  /** Ids by slug, including those created by this plan. */
  readonly organisations: Map<string, number>;

  constructor(batch: Batch, organisations: Iterable<readonly [slug: string, id: number]>) {
    this.#batch = batch;
    this.organisations = new Map(organisations);
  }

  /** Makes way for all changes before any of them is applied. */
  prepare(changes: readonly FleetChange[]): Promise<void> {
    return prepareChanges(this.#batch, changes);
  }

  /** Applies changes that do the same with objects of one kind. */
  async apply(changes: readonly FleetChange[]): Promise<void> {
    await applyChanges(this.#batch, changes, (object, made) => this.#keepSecret(object, made));
    if (changes[0]?.do !== 'organisation.create') return;
    const slugs = changes.map(({ organisation }) => organisation);
    const { rows } = await sql<{ id: number; slug: string }>`
      select id, slug from organisations where slug = any(${slugs}::text[])`.execute(
      this.#batch.tx,
    );
    for (const { id, slug } of rows) this.organisations.set(slug, id);
  }

  #keepSecret(object: object, { secret }: Made): void {
    if (secret === null) return;
    const { organisation, name } = object as Pick<CreatedFleetKey, 'organisation' | 'name'>;
    this.createdKeys.push({ organisation, name, key: secret });
  }
}
