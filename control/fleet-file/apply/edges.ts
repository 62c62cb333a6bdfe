import { sql } from 'kysely';
import { type Batch, BEGINS } from '../../fleet/batch.ts';
import { deleteEdge } from '../../fleet/index.ts';
import type { DesiredEdge } from '../desired.ts';
import type { Change } from '../plan/change.ts';

/** Adds or removes a rule of the operator's baseline. */
export async function saveBaseline(
  batch: Batch,
  change: Change<'baseline.add' | 'baseline.remove'>,
): Promise<void> {
  batch.touch(change.prefix);
  if (change.do === 'baseline.remove') return batch.end('baseline_rules', [change.id]);
  const { action, protocol, source, port } = change.rule;
  const { rows } = await sql<{ id: number }>`
    insert into baseline_rules (prefix, action, protocol, source, port, created_generation)
    values (${change.prefix}, ${action}, ${protocol}, ${source}, ${port}, ${BEGINS.created_generation})
    returning id
  `.execute(batch.tx);
  batch.begin(
    'baseline_rules',
    rows.map(({ id }) => id),
  );
}

export async function saveEdge(
  batch: Batch,
  change: Change<'edge.create' | 'edge.update' | 'edge.delete'>,
): Promise<void> {
  if (change.do === 'edge.delete') return deleteEdge(batch, change.id);
  batch.mark();
  const { name, site, devices, serves, sees, fragments, management }: DesiredEdge = change.edge;
  if (change.do === 'edge.update') await touchServed(batch, change.id, serves);
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values (${name}, ${site}, ${devices}::text[], ${serves}::cidr[], ${sees}, ${fragments},
            ${JSON.stringify(management)}::jsonb, 'fleet')
    on conflict (name) do update set site = excluded.site, devices = excluded.devices,
      serves = excluded.serves, sees = excluded.sees, fragments = excluded.fragments,
      management = excluded.management
  `.execute(batch.tx);
}

/** Marks the prefixes that an edge gains or loses as changed, because edges fetch only what changed. */
async function touchServed(batch: Batch, id: number, serves: readonly string[]): Promise<void> {
  const { rows } = await sql<{ cidr: string }>`
    with was as (select unnest(serves) as cidr from edges where id = ${id}),
         wanted as (select unnest(${serves}::cidr[]) as cidr)
    (select cidr from was except select cidr from wanted)
    union (select cidr from wanted except select cidr from was)`.execute(batch.tx);
  batch.touch(...rows.map(({ cidr }) => cidr));
}
