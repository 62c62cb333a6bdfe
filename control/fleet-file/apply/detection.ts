import { sql } from 'kysely';
import { deleteCollector } from '../../collectors/index.ts';
import type { Tx } from '../../db/database.ts';
import type { FleetChange } from '../plan/change.ts';

export async function saveCollector(
  tx: Tx,
  change: Extract<FleetChange, { readonly do: 'collector.save' | 'collector.delete' }>,
): Promise<void> {
  if (change.do === 'collector.delete') return deleteCollector(tx, change.id);
  const { name, listen, exporters, site } = change.collector;
  await sql`
    insert into collectors (name, listen, exporters, site, owner)
    values (${name}, ${listen}, ${JSON.stringify(exporters)}::jsonb, ${site}, 'fleet')
    on conflict (name) do update set listen = excluded.listen, exporters = excluded.exporters,
      site = excluded.site`.execute(tx);
}

export async function saveResponder(
  tx: Tx,
  change: Extract<FleetChange, { readonly do: 'responder.save' | 'responder.delete' }>,
): Promise<void> {
  if (change.do === 'responder.delete') {
    await sql`delete from responders where id = ${change.id}`.execute(tx);
    return;
  }
  const { name, spec } = change.responder;
  await sql`
    insert into responders (name, spec, owner) values (${name}, ${JSON.stringify(spec)}::jsonb, 'fleet')
    on conflict (name) do update set spec = excluded.spec`.execute(tx);
}
