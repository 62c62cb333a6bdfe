import { sql } from 'kysely';
import { constraintOf } from '../db/failure.ts';
import type { Reader, Tx } from '../db/database.ts';
import { conflict } from '../problem.ts';

/** A port of a server. */
export interface ServerPortRow {
  readonly ip: string;
  readonly port: number;
  readonly protocols: readonly ('tcp' | 'udp')[];
  readonly name: string | null;
  readonly variable: string | null;
  readonly primary: boolean;
  readonly added: boolean;
}

/** Where a port is. */
export interface PortPlace {
  readonly ip: string;
  readonly port: number;
}

export async function loadPorts(db: Reader | Tx, server: string): Promise<ServerPortRow[]> {
  const { rows } = await sql<ServerPortRow>`
    select host(ip) as ip, port, protocols, name, variable, number = 1 as primary, added_id is not null as added
      from all_server_ports where server = ${server} order by number`.execute(db);
  return rows;
}

/** The pool of the node of a server, and its limit. */
export interface PortOffer {
  /** Ports in all; 0: people add none. */
  readonly limit: number;
  readonly node: string;
  readonly addresses: readonly string[];
  /** A port expression. */
  readonly ports: string;
  readonly protocols: readonly ('tcp' | 'udp')[];
  /** `running` and the like; null: unknown. */
  readonly state: string | null;
}

export async function loadOffer(db: Reader | Tx, server: string): Promise<PortOffer> {
  const { rows } = await sql<PortOffer>`
    select s.port_limit as limit, n.name as node, array(select host(unnest(n.addresses))) as addresses,
           n.given_ports as ports, e.egg -> 'protocols' as protocols, s.power_state as state
      from game_servers s join nodes n on n.id = s.node_id join eggs e on e.digest = s.egg_digest
     where s.uuid = ${server}`.execute(db);
  const [offer] = rows;
  if (offer === undefined) throw new Error(`there is no server ${server}`);
  return offer;
}

/** Ports of addresses that servers have, as `ADDRESS PORT`. */
export async function loadTaken(
  tx: Tx,
  addresses: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taken: string }>`
    select host(ip) || ' ' || port as taken from server_ports where ip = any(${addresses}::inet[])`.execute(
    tx,
  );
  return new Set(rows.map(({ taken }) => taken));
}

type AddedPort = PortPlace & Pick<ServerPortRow, 'protocols' | 'name'>;

/** Adds a port. 422 where another server was given it at the same time: a server of another node with the same address. */
export async function insertPort(tx: Tx, server: string, added: AddedPort): Promise<void> {
  const { ip, port, protocols, name } = added;
  await sql`
    insert into added_ports (server, ip, port, protocols, name)
    values (${server}, ${ip}::inet, ${port}, ${protocols}::text[], ${name})`.execute(tx);
  try {
    await sql`set constraints game_servers_allocation immediate`.execute(tx);
  } catch (error) {
    if (constraintOf(error) !== 'game_servers_allocation') throw error;
    throw conflict(`${ip} port ${port} was given to another server at the same time. Try again.`);
  }
}

export async function updatePort(tx: Tx, server: string, changed: AddedPort): Promise<void> {
  const { ip, port, protocols, name } = changed;
  await sql`
    update added_ports set protocols = ${protocols}::text[], name = ${name}
     where server = ${server} and ip = ${ip}::inet and port = ${port}`.execute(tx);
}

export async function deletePort(tx: Tx, server: string, { ip, port }: PortPlace): Promise<void> {
  await sql`
    delete from added_ports where server = ${server} and ip = ${ip}::inet and port = ${port}`.execute(
    tx,
  );
}

export async function setPrimary(tx: Tx, server: string, { ip, port }: PortPlace): Promise<void> {
  await sql`
    update game_servers set chosen_ip = ${ip}::inet, chosen_port = ${port} where uuid = ${server}`.execute(
    tx,
  );
}
