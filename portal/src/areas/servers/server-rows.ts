import type { GameServerStatus } from '@portcullis/client/index.ts';

export type ServerFilter = 'all' | 'running' | 'offline' | 'troubled';

export interface ServerRow extends GameServerStatus {
  /** Attacks on its address that go on; null while they are not known, or may not be seen. */
  readonly attacks: number | null;
}

type Attacked = { readonly destination_ip: string; readonly ended_at: string | null };

/** Rows by name. */
export function rowsOf(
  servers: readonly GameServerStatus[],
  attacks: readonly Attacked[] | null,
): ServerRow[] {
  const ongoing = new Map<string, number>();
  for (const { destination_ip: ip, ended_at } of attacks ?? []) {
    if (ended_at === null) ongoing.set(ip, (ongoing.get(ip) ?? 0) + 1);
  }
  return servers
    .map((server) => {
      const count = ongoing.get(server.allocation.ip) ?? 0;
      return { ...server, attacks: attacks === null ? null : count };
    })
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Its name, address with port, node, game and service. */
export function fieldsOf(row: ServerRow): readonly string[] {
  const { name, uuid, service_name: service, node, egg, allocation } = row;
  return [name, uuid, service, node, egg, `${allocation.ip}:${allocation.port}`];
}

export const FILTERS: Readonly<Record<ServerFilter, (row: ServerRow) => boolean>> = {
  all: () => true,
  running: ({ state }) => state === 'running',
  offline: ({ state }) => state === 'offline',
  troubled: isTroubled,
};

/** Whether somebody should look at it: it crashed, cannot run, is attacked, or nobody knows what it does. */
export function isTroubled(row: ServerRow): boolean {
  const { crashed_at, build_state, suspended, attacks, state } = row;
  const isUnknown = build_state === 'built' && state === null;
  const isAttacked = (attacks ?? 0) > 0;
  return crashed_at !== null || build_state === 'failed' || suspended || isAttacked || isUnknown;
}
