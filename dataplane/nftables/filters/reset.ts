import { stateSet } from './state.ts';
import { IP } from '../names.ts';

/**
 * When a SYN proxy comes or goes, connections from before are told that they are gone: it would only be silent, or
 * leave them with sequence numbers that nobody translates any more, and their clients would wait for minutes.
 */

/** What comes from clients. */
export function resetClients(devices: string): string[] {
  return ([4, 6] as const).flatMap((family) => {
    const ip = IP[family];
    const tuple = `${ip} saddr . tcp sport . ${ip} daddr . tcp dport`;
    const set = stateSet('reset_client', family);
    return [
      // Whoever begins anew from the same port is no old client any more.
      `${devices} ct state new,untracked tcp flags & (syn|ack) == syn delete @${set} { ${tuple} }`,
      `${devices} ct state invalid tcp flags & (syn|rst) == 0 ${tuple} @${set} reject with tcp reset`,
    ];
  });
}

/**
 * What servers send. Of an old connection they learn with their next packet that it is gone, be it only the answer
 * to the SYN of a new one from the same port; a SYN of their own says that they know.
 */
export function resetServers(): string[] {
  return ([4, 6] as const).flatMap((family) => {
    const ip = IP[family];
    const tuple = `${ip} daddr . tcp dport . ${ip} saddr . tcp sport`;
    const set = stateSet('reset_server', family);
    return [
      // Not the proxy's own, which belongs to no connection.
      `tcp flags & (syn|ack) == (syn|ack) ct state established delete @${set} { ${tuple} }`,
      `tcp flags & (syn|rst) == 0 ${tuple} @${set} reject with tcp reset`,
    ];
  });
}
