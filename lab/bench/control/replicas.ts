import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeys } from '@portcullis/control/access/index.ts';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { openDatabase } from '@portcullis/control/db/database.ts';
import { sql } from 'kysely';
import type { Bench, Row } from '../report.ts';
import { end, startControl } from './control-process.ts';
import { mean, mustAnswer, startLoad } from './rounds.ts';

const ORGANISATIONS = 1_000;
const CLIENTS = 64;
const ROUNDS = 4;
const DURATION_MS = 5_000;
/** Rules of every tenant: more than a round can write. */
const RULES_PER_ROUND = 8;

interface Tenant {
  readonly ip: string;
  readonly key: string;
}

/** The writes that 64 clients of 1,000 organisations make through one replica of control, and through two. */
export const replicasBench: Bench = {
  name: 'replicas',
  missing: () => null,
  async run(say) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
    // Control and PostgreSQL use another account, which must be able to enter.
    chmodSync(data, 0o711);
    const first = await startControl(join(data, '1'));
    try {
      const tenants = await fillTenants(first.databaseUrl);
      const second = await startControl(join(data, '2'), first.databaseUrl);
      try {
        return await measure(say, tenants, [first.port, second.port]);
      } finally {
        await end(second.child);
      }
    } finally {
      await end(first.child);
      rmSync(data, { recursive: true, force: true });
    }
  },
};

async function measure(
  say: (line: string) => void,
  tenants: readonly Tenant[],
  ports: readonly number[],
): Promise<Row[]> {
  const found: { readonly rates: number[]; readonly p99s: number[] }[] = ports.map(() => ({
    rates: [],
    p99s: [],
  }));
  let rulePort = 0;
  // Round 0 warms both up.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, { rates, p99s }] of found.entries()) {
      const used = ports.slice(0, index + 1);
      const results = await Promise.all(
        used.map((port) => {
          const requests = Array.from({ length: RULES_PER_ROUND }, () => (rulePort += 1)).flatMap(
            (of) => tenants.map((tenant) => create(tenant, port, of)),
          );
          return startLoad(port, requests, {
            connections: CLIENTS / used.length,
            durationMs: DURATION_MS,
          });
        }),
      );
      for (const result of results) mustAnswer(result, '201');
      const rate = results.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
      const p99 = Math.max(...results.map(({ p99Ms }) => p99Ms));
      say(
        `round ${round}, ${used.length} replicas: ${Math.round(rate)}/s, p99 ${Math.round(p99)} ms`,
      );
      if (round === 0) continue;
      rates.push(rate);
      p99s.push(p99);
    }
  }
  const [one, two] = found;
  const name = `of ${CLIENTS} clients of ${ORGANISATIONS} organisations, two replicas (baseline: one)`;
  const row = (what: string, unit: string, of: 'rates' | 'p99s'): Row => ({
    name: `${what} ${name}`,
    value: mean(two?.[of] ?? []),
    unit,
    baseline: mean(one?.[of] ?? []),
    goal: null,
  });
  return [row('creates', 'requests/s', 'rates'), row('p99 of a create', 'ms', 'p99s')];
}

function create({ ip, key }: Tenant, port: number, rulePort: number): string {
  const rule = { action: 'allow', protocol: 'udp', destination_port: String(rulePort) };
  const body = JSON.stringify(rule);
  return `POST /api/v1/firewall/ips/${ip}/rules HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Organisations with one address and one key each. */
async function fillTenants(databaseUrl: string): Promise<Tenant[]> {
  const db = openDatabase({ url: migrationUrl(databaseUrl), poolSize: 1 });
  try {
    const { rows } = await sql<{ id: number; ip: string }>`
      with made as (
        insert into organisations (slug, name, flags, owner, rules_per_ip, requests_per_minute)
        select 'tenant-' || n, 'Tenant ' || n, '{firewall_api}', 'portal', 100000, 2000000000
          from generate_series(1, ${ORGANISATIONS}::int) n
        returning id, slug),
      held as (
        insert into asns (asn, organisation_id, owner)
        select 4200000000 + id, id, 'portal' from made returning asn, organisation_id)
      insert into holdings (organisation_id, cidr, during, asn, owner)
      select id, set_masklen('10.9.0.0'::inet + substr(slug, 8)::int, 32)::cidr, tstzrange(now(), null), asn, 'portal'
        from made join held on organisation_id = id
      returning organisation_id as id, host(cidr) as ip`.execute(db);
    const operator = { kind: 'operator', name: 'bench', source: null, requestId: null } as const;
    const keys = await db.transaction().execute((tx) =>
      createKeys(
        tx,
        rows.map(({ id }) => ({
          organisationId: id,
          name: 'bench',
          abilities: ['firewall.manage'],
          owner: 'portal' as const,
        })),
        operator,
      ),
    );
    await sql`analyze`.execute(db);
    return rows.map(({ ip }, index) => ({ ip, key: keys[index]?.secret ?? '' }));
  } finally {
    await db.destroy();
  }
}
