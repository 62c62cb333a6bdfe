import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import type { RuleContent } from '../objects.ts';

/**
 * Rules of the past of an address with the present numbers of the ports that they name. Where the port is gone, the
 * number of then stays, and nothing to follow.
 */
export async function renumber<T extends RuleContent>(
  tx: Tx,
  { organisationId, ip }: { readonly organisationId: number; readonly ip: string },
  rules: readonly T[],
): Promise<T[]> {
  const servers = [...new Set(rules.flatMap(({ namedPort }) => namedPort?.server ?? []))];
  if (servers.length === 0) return [...rules];
  await sql`
    select from game_servers where uuid = any(${servers}::uuid[]) order by uuid for share`.execute(
    tx,
  );
  const { rows } = await sql<{ server: string; name: string; port: number }>`
    select uuid as server, name, port from named_ports
     where uuid = any(${servers}::uuid[]) and organisation_id = ${organisationId}
       and reaches(${ip}::inet, ip, service_id)`.execute(tx);
  const ports = new Map(rows.map(({ server, name, port }) => [`${server}:${name}`, port]));
  return rules.map((rule) => {
    if (rule.namedPort === null || rule.namedPort === undefined) return rule;
    const port = ports.get(`${rule.namedPort.server}:${rule.namedPort.name}`);
    return port === undefined ? { ...rule, namedPort: null } : { ...rule, port };
  });
}
