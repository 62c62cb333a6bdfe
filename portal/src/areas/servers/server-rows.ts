import type { GameServerStatus } from '@portcullis/client/index.ts';

export type ServerFilter = 'all' | 'running' | 'offline' | 'troubled';
export type ServerSort = 'name' | 'state' | 'service';

export interface ServerRow extends GameServerStatus {
  /** Attacks on its address that go on. */
  readonly attacks: number;
}

type Attacked = { readonly destination_ip: string; readonly ended_at: string | null };

export function rowsOf(
  servers: readonly GameServerStatus[],
  attacks: readonly Attacked[],
): ServerRow[] {
  const ongoing = new Map<string, number>();
  for (const { destination_ip: ip, ended_at } of attacks) {
    if (ended_at === null) ongoing.set(ip, (ongoing.get(ip) ?? 0) + 1);
  }
  return servers.map((server) => ({
    ...server,
    attacks: ongoing.get(server.allocation.ip) ?? 0,
  }));
}

export function searchRows(
  rows: readonly ServerRow[],
  text: string,
  filter: ServerFilter,
): ServerRow[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter((row) => matches(row, wanted) && passes(row, filter));
}

function matches(row: ServerRow, wanted: string): boolean {
  const { name, uuid, service_name: service, node, egg, allocation } = row;
  return [name, uuid, service, node, egg, `${allocation.ip}:${allocation.port}`].some((field) =>
    field.toLowerCase().includes(wanted),
  );
}

function passes(row: ServerRow, filter: ServerFilter): boolean {
  if (filter === 'running') return row.state === 'running';
  if (filter === 'offline') return row.state === 'offline';
  return filter === 'all' || isTroubled(row);
}

/** Whether somebody should look at it: it crashed, cannot run, is attacked, or nobody knows what it does. */
export function isTroubled(row: ServerRow): boolean {
  const { crashed_at, build_state, suspended, attacks, state } = row;
  const isUnknown = build_state === 'built' && state === null;
  return crashed_at !== null || build_state === 'failed' || suspended || attacks > 0 || isUnknown;
}

/** By name where the others are equal. */
export function sortRows(
  rows: readonly ServerRow[],
  by: ServerSort,
  isDescending: boolean,
): ServerRow[] {
  const sign = isDescending ? -1 : 1;
  const field = { name: 'name', state: 'state', service: 'service_name' } as const;
  const key = (row: ServerRow): string => row[field[by]] ?? '';
  return rows.toSorted(
    (a, b) => sign * key(a).localeCompare(key(b)) || a.name.localeCompare(b.name),
  );
}
