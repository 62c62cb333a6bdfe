import { type RawBuilder, sql } from 'kysely';

/** All ports of a row of `game_servers`, the first one too; empty: its first port alone, with the protocols of its egg. */
export function portsOf(alias: string): RawBuilder<unknown> {
  const server = sql.table(alias);
  return sql`(
    select case when ${server}.ports = '[]' and count(*) = 1 then '[]' else
             jsonb_agg(jsonb_build_object('ip', host(p.ip), 'port', p.port, 'protocols', p.protocols,
                                          'variable', p.variable, 'name', p.name) order by p.number) end
      from all_server_ports p where p.server = ${server}.uuid)`;
}

/** The address of the first port of a row of `game_servers`, and its number. */
export function firstPortOf(alias: string): {
  readonly ip: RawBuilder<string>;
  readonly port: RawBuilder<number>;
} {
  const server = sql.table(alias);
  // Few servers have another first port than the one that is declared.
  const chosen = (column: RawBuilder<unknown>) =>
    sql`(select ${column} from all_server_ports p where p.server = ${server}.uuid and p.number = 1)`;
  const isDeclared = sql`${server}.chosen_ip is null`;
  return {
    ip: sql`case when ${isDeclared} then host(${server}.ip) else ${chosen(sql`host(p.ip)`)} end`,
    port: sql`case when ${isDeclared} then ${server}.port else ${chosen(sql`p.port`)} end`,
  };
}
