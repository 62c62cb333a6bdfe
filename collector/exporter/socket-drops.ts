import { readFileSync } from 'node:fs';

/** The address and port of a socket. */
export interface Endpoint {
  readonly family: 4 | 6;
  readonly port: number;
}

/**
 * Reads how many datagrams the kernel dropped because the socket buffer was full, since the sockets were opened.
 * Linux only, 0 elsewhere. Source: proc(5), the last column of /proc/net/udp.
 */
export function readSocketDrops(endpoints: readonly Endpoint[]): number {
  let drops = 0;
  for (const family of [4, 6] as const) {
    const ports = endpoints.filter((one) => one.family === family).map(({ port }) => port);
    if (ports.length > 0) drops += parseDrops(readTable(family), ports);
  }
  return drops;
}

export function parseDrops(table: string, ports: readonly number[]): number {
  let drops = 0;
  for (const line of table.split('\n').slice(1)) {
    const columns = line.trim().split(/\s+/);
    const port = Number.parseInt(columns[1]?.split(':')[1] ?? '', 16);
    if (ports.includes(port)) drops += Number(columns.at(-1)) || 0;
  }
  return drops;
}

function readTable(family: 4 | 6): string {
  try {
    return readFileSync(family === 4 ? '/proc/self/net/udp' : '/proc/self/net/udp6', 'utf8');
  } catch {
    return '';
  }
}
