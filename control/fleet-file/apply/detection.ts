import { sql } from 'kysely';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Tx } from '../../db/database.ts';
import type { DetectionPlace, FleetChange } from '../plan/change.ts';

const TABLES: Readonly<Record<DetectionPlace['kind'], string>> = {
  organisation: 'organisations',
  service: 'services',
  holding: 'holdings',
};

/** Saves the settings of one row. A trigger notifies listeners (`portcullis_holdings`). */
export async function saveDetection(
  tx: Tx,
  kind: DetectionPlace['kind'],
  id: number,
  detection: ScopeSettings,
): Promise<void> {
  await sql`
    update ${sql.table(TABLES[kind])} set detection = ${JSON.stringify(detection)}::jsonb
     where id = ${id}`.execute(tx);
}

export async function saveCollector(
  tx: Tx,
  change: Extract<FleetChange, { readonly do: 'collector.save' | 'collector.delete' }>,
): Promise<void> {
  if (change.do === 'collector.delete') {
    await sql`delete from collectors where id = ${change.id}`.execute(tx);
    return;
  }
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
