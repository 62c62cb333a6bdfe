import { setTimeout as wait } from 'node:timers/promises';
import { findEmbeddedPostgres } from '@portcullis/control/db/embedded/index.ts';
import { openDatabase } from '@portcullis/control/db/database.ts';
import { sql } from 'kysely';
import { EDGE_DEVICE } from '../../stack/internet.ts';
import { ORGANISATION, type Stack } from '../../stack/stack.ts';
import { addressOf, type Fleet, policyOf } from './policies.ts';

const PATIENCE_MS = 60_000;
const LOOK_MS = 500;

/** A fleet file for as many addresses as a bench has. The first prefix is there because every stack waits for it. */
export const BENCH_FLEET = `organisations:
  ${ORGANISATION}:
    name: Acme Hosting
    flags: [firewall_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
      - { cidr: 10.0.0.0/16, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
`;

/** Gives the stack's addresses the rules of a fleet, and starts it anew: its edge then has them. */
export async function fillStack(stack: Stack, fleet: Fleet): Promise<void> {
  const url = findEmbeddedPostgres(stack.dataDir);
  if (url === null) throw new Error('the stack has no database of its own');
  const db = openDatabase({ url, poolSize: 1 });
  try {
    const addresses = Array.from({ length: fleet.addresses }, (_, at) =>
      addressOf(fleet.family, at),
    );
    const rows = addresses.flatMap((ip, at) =>
      policyOf(fleet, at).rules.map(({ action, protocol, port, source }) => {
        return { ip, action, protocol, port, source };
      }),
    );
    await sql`
      with given as (select * from json_to_recordset(${JSON.stringify(rows)}::json)
             as row(ip inet, action text, protocol text, port int, source cidr)),
           holding as (select id from holdings where cidr = '10.0.0.0/16'),
           places as (
             insert into addresses (holding_id, ip, configured)
             select distinct holding.id, given.ip, true from given, holding returning id, ip)
      insert into rules (address_id, action, protocol, source, port, created_generation)
      select distinct places.id, given.action, given.protocol, given.source, given.port, 0
      from given join places on places.ip = given.ip`.execute(db);
  } finally {
    await db.destroy();
  }
  await stack.terminate();
  await stack.start('--enforce');
  await loaded(stack, fleet.addresses);
}

/** Control may count the edge of before for a while; the edge's own report cannot be of before. */
async function loaded(stack: Stack, policies: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { data: shown } = JSON.parse(await stack.command('edges', 'show', 'lab', '--json')) as {
      data: {
        readonly report: { readonly policies: number } | null;
      };
    };
    if ((shown.report?.policies ?? 0) >= policies) return;
    if (performance.now() > deadline) throw new Error(`in vain: ${JSON.stringify(shown)}`);
    await wait(LOOK_MS);
  }
}
