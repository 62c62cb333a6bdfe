import { stateSet } from './state.ts';
import { IP } from '../names.ts';

/**
 * Resets connections that were opened before a SYN proxy was added or removed. Otherwise the proxy would ignore them,
 * or their sequence numbers would no longer be translated, and the clients would wait minutes for a timeout.
 */

/** Packets of clients. */
export function resetClients(devices: string): string[] {
  return ([4, 6] as const).flatMap((family) => {
    const ip = IP[family];
    const tuple = `${ip} saddr . tcp sport . ${ip} daddr . tcp dport`;
    const set = stateSet('reset_client', family);
    return [
      // A SYN from the same port opens a new connection.
      `${devices} ct state new,untracked tcp flags & (syn|ack) == syn delete @${set} { ${tuple} }`,
      `${devices} ct state invalid tcp flags & (syn|rst) == 0 ${tuple} @${set} reject with tcp reset`,
    ];
  });
}

/**
 * Packets of servers. A server receives the reset with its next packet of an old connection, even with its answer to
 * the SYN of a new one from the same port. Its own SYN shows that it has closed the old one.
 */
export function resetServers(): string[] {
  return ([4, 6] as const).flatMap((family) => {
    const ip = IP[family];
    const tuple = `${ip} daddr . tcp dport . ${ip} saddr . tcp sport`;
    const set = stateSet('reset_server', family);
    return [
      // Not that of the proxy, which belongs to no connection.
      `tcp flags & (syn|ack) == (syn|ack) ct state established delete @${set} { ${tuple} }`,
      `tcp flags & (syn|rst) == 0 ${tuple} @${set} reject with tcp reset`,
    ];
  });
}
