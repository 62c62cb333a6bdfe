import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import type { FleetChange } from '../plan/change.ts';

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
