import { sql } from 'kysely';
import type { CollectorExporter } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';

/** A listener for flow exports. */
export interface CollectorContent {
  readonly name: string;
  /** `ADDRESS:PORT`, IPv6 in brackets. */
  readonly listen: string;
  readonly exporters: readonly CollectorExporter[];
  /** Null means the site of the first edge. */
  readonly site: string | null;
}

/** Creates a collector of the side that writes, or changes it. */
export async function saveCollector(
  { tx, owner }: Batch,
  { name, listen, exporters, site }: CollectorContent,
): Promise<void> {
  await sql`
    insert into collectors (name, listen, exporters, site, owner)
    values (${name}, ${listen}, ${JSON.stringify(exporters)}::jsonb, ${site}, ${owner})
    on conflict (name) do update set listen = excluded.listen, exporters = excluded.exporters,
      site = excluded.site`.execute(tx);
}
