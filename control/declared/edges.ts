import { sql } from 'kysely';
import type { EdgeManagement } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';

export interface EdgeContent {
  readonly name: string;
  readonly site: string;
  readonly devices: readonly string[];
  readonly serves: readonly string[];
  readonly sees: 'both' | 'inbound';
  readonly fragments: 'reassemble' | 'limit';
  readonly management: readonly EdgeManagement[];
}

/** Creates an edge of the side that writes, or changes it. */
export async function saveEdge(batch: Batch, edge: EdgeContent): Promise<void> {
  const { name, site, devices, serves, sees, fragments, management } = edge;
  batch.mark();
  await touchServed(batch, name, serves);
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values (${name}, ${site}, ${devices}::text[], ${serves}::cidr[], ${sees}, ${fragments},
            ${JSON.stringify(management)}::jsonb, ${batch.owner})
    on conflict (name) do update set site = excluded.site, devices = excluded.devices,
      serves = excluded.serves, sees = excluded.sees, fragments = excluded.fragments,
      management = excluded.management
  `.execute(batch.tx);
}

/** Marks the prefixes that an edge gains or loses as changed, because edges fetch only what changed. */
async function touchServed(batch: Batch, name: string, serves: readonly string[]): Promise<void> {
  const { rows } = await sql<{ cidr: string }>`
    with was as (select unnest(serves) as cidr from edges where name = ${name}),
         wanted as (select unnest(${serves}::cidr[]) as cidr)
    (select cidr from was except select cidr from wanted)
    union (select cidr from wanted where exists (select from was) except select cidr from was)`.execute(
    batch.tx,
  );
  batch.touch(...rows.map(({ cidr }) => cidr));
}
