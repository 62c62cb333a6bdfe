import type { TopPort } from './top-talkers.ts';

const PORTS = 65_536;
const [TCP, UDP] = [6, 17];

/** Ports of TCP and UDP are distinct: each vector of an attack has its own. */
export function portKeyOf(protocol: number, port: number): number {
  return protocol * PORTS + port;
}

export function portOfKey(key: number): Omit<TopPort, 'packets'> {
  const protocol = Math.floor(key / PORTS);
  const port = key % PORTS;
  if (protocol === TCP) return { port, protocol: 'tcp' };
  return protocol === UDP ? { port, protocol: 'udp' } : { port };
}
