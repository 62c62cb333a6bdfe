import { sql } from 'kysely';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Db, Tx } from '../db/database.ts';
import { createFleetEvents, type FleetEvents } from './events.ts';
import { takeGeneration } from './generations.ts';

/** Builders of a small fleet in a test's database. */

export function silentEvents(): FleetEvents {
  return createFleetEvents(pino({ level: 'silent' }), new Registry());
}

export async function insertOrganisation(db: Db, slug: string): Promise<number> {
  return idOf(
    await sql<Id>`insert into organisations (slug, name, owner) values (${slug}, ${slug}, 'portal')
                  returning id`.execute(db),
  );
}

export interface HoldingOptions {
  /** A moment as a PostgreSQL timestamptz; by default from a day ago without an end. */
  readonly from?: string;
  readonly until?: string;
  /** Held through a service with this id, instead of an ASN. */
  readonly service?: number;
  readonly managedFilters?: readonly { type: string; ports: string | null }[];
}

export async function insertHolding(
  db: Db,
  organisation: number,
  cidr: string,
  options: HoldingOptions = {},
): Promise<number> {
  const from = options.from ?? new Date(Date.now() - 86_400_000).toISOString();
  const until = options.until ?? null;
  const asn = options.service === undefined ? 64_500 + organisation : null;
  if (asn !== null) {
    await sql`insert into asns values (${asn}, ${organisation}, 'portal') on conflict do nothing`.execute(
      db,
    );
  } else {
    await sql`
      insert into services (id, organisation_id, name, managed_filters, owner)
      values (${options.service}, ${organisation}, 'service', ${JSON.stringify(options.managedFilters ?? [])}::jsonb, 'portal')
      on conflict do nothing`.execute(db);
  }
  return idOf(
    await sql<Id>`
      insert into holdings (organisation_id, cidr, during, asn, service_id, owner)
      values (${organisation}, ${cidr}::cidr, tstzrange(${from}::timestamptz, ${until}::timestamptz),
              ${asn}, ${options.service ?? null}, 'portal') returning id`.execute(db),
  );
}

export interface RuleOptions {
  readonly action?: 'allow' | 'deny';
  readonly protocol?: 'tcp' | 'udp' | 'any';
  readonly port?: number | null;
  readonly source?: string | null;
}

/** Accepts one rule on an address, as a write does. Returns its id and generation. */
export async function acceptRule(
  db: Db,
  holding: number,
  ip: string,
  rule: RuleOptions = {},
): Promise<{ id: number; generation: number }> {
  return db.transaction().execute(async (tx) => {
    const address = await provideAddress(tx, holding, ip);
    const generation = await takeGeneration(tx, { cause: 'test', targets: [ip] });
    const id = idOf(
      await sql<Id>`
        insert into rules (address_id, action, protocol, source, port, created_generation)
        values (${address}, ${rule.action ?? 'deny'}, ${rule.protocol ?? 'udp'},
                ${rule.source ?? null}::cidr, ${rule.port ?? null}, ${generation}) returning id`.execute(
        tx,
      ),
    );
    return { id, generation };
  });
}

export async function deleteRule(db: Db, id: number): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ ip: string }>`
      select a.ip from rules r join addresses a on a.id = r.address_id where r.id = ${id}`.execute(
      tx,
    );
    const generation = await takeGeneration(tx, {
      cause: 'test',
      targets: rows.map((row) => row.ip),
    });
    await sql`
      update rules set deleted_generation = ${generation}, deleted_at = now() where id = ${id}`.execute(
      tx,
    );
    return generation;
  });
}

async function provideAddress(tx: Tx, holding: number, ip: string): Promise<number> {
  return idOf(
    await sql<Id>`
      insert into addresses (holding_id, ip) values (${holding}, ${ip}::inet)
      on conflict (holding_id, ip) do update set ip = excluded.ip returning id`.execute(tx),
  );
}

/** A group with one rule, assigned to the targets, as one generation. */
export async function assignGroup(
  db: Db,
  organisation: number,
  holding: number,
  targets: readonly string[],
  rule: RuleOptions = {},
): Promise<{ group: number; rule: number; generation: number }> {
  return db.transaction().execute(async (tx) => {
    const generation = await takeGeneration(tx, { cause: 'test', targets });
    const group = idOf(
      await sql<Id>`
        insert into groups (organisation_id, name, owner)
        values (${organisation}, 'group ' || ${generation}::text, 'portal') returning id`.execute(
        tx,
      ),
    );
    const ruleId = idOf(
      await sql<Id>`
        insert into group_rules (group_id, action, protocol, source, port, created_generation)
        values (${group}, ${rule.action ?? 'deny'}, ${rule.protocol ?? 'tcp'},
                ${rule.source ?? null}::cidr, ${rule.port ?? null}, ${generation}) returning id`.execute(
        tx,
      ),
    );
    await sql`
      insert into group_assignments (group_id, holding_id, target, created_generation)
      select ${group}, ${holding}, target::cidr, ${generation} from unnest(${targets}::text[]) target`.execute(
      tx,
    );
    return { group, rule: ruleId, generation };
  });
}

/** A geo rule on the targets, as one generation. */
export async function assignGeo(
  db: Db,
  organisation: number,
  holding: number,
  targets: readonly string[],
  country: string,
): Promise<{ rule: number; generation: number }> {
  return db.transaction().execute(async (tx) => {
    const generation = await takeGeneration(tx, { cause: 'test', targets });
    const rule = idOf(
      await sql<Id>`
        insert into geo_rules (organisation_id, action, countries, owner, created_generation)
        values (${organisation}, 'deny', array[${country}], 'portal', ${generation}) returning id`.execute(
        tx,
      ),
    );
    await sql`
      insert into geo_assignments (geo_rule_id, holding_id, target, created_generation)
      select ${rule}, ${holding}, target::cidr, ${generation} from unnest(${targets}::text[]) target`.execute(
      tx,
    );
    return { rule, generation };
  });
}

export async function insertBaseline(db: Db, prefix: string, port: number): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const generation = await takeGeneration(tx, { cause: 'test', targets: [prefix] });
    return idOf(
      await sql<Id>`
        insert into baseline_rules (prefix, action, protocol, port, created_generation)
        values (${prefix}::cidr, 'deny', 'udp', ${port}, ${generation}) returning id`.execute(tx),
    );
  });
}

export async function insertEdge(
  db: Db,
  name: string,
  serves: readonly string[] = ['0.0.0.0/0', '::/0'],
): Promise<void> {
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values (${name}, 'site', '{eth0}', ${serves}::cidr[], 'both', 'reassemble',
            '[{"protocol": "tcp", "port": 22}]', 'portal')`.execute(db);
}

export async function liveGeneration(db: Db, ip: string): Promise<number> {
  const { rows } = await sql<{ live: number }>`
    select live_generation(${ip}::inet) as live`.execute(db);
  return rows[0]?.live ?? Number.NaN;
}

interface Id {
  readonly id: number;
}
function idOf({ rows }: { readonly rows: readonly Id[] }): number {
  const row = rows[0];
  if (row === undefined) throw new Error('nothing was inserted');
  return row.id;
}
