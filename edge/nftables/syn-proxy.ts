import { HANDSHAKES } from '@portcullis/core/filters/reasons.ts';
import type { TcpServer } from '../filters/tcp-server.ts';
import type { AddChain, FilteredPort, FilterPlace } from './filter-place.ts';
import { count, dropFor, sourceRate, stateSet } from './filter-state.ts';
import { IP, type PortDispatch } from './names.ts';

/** The chains that a port behind the SYN proxy needs in other hooks; servers that are alike share them. */
export function synProxyChains(
  { port, program }: FilteredPort,
  place: FilterPlace,
  add: AddChain,
): [PortDispatch, string][] {
  const { family, serverAt } = place;
  const ip = IP[family];
  const chains: [PortDispatch, string][] = [
    ['untrack', add('untrack', ['notrack'])],
    ['synproxy', add(`synproxy${family}`, proxyStatements(serverAt(port), place))],
  ];
  const peer = `${ip} saddr . ${ip} daddr . th dport`;
  const limits =
    program.connections === null
      ? []
      : [
          `${sourceRate('connection_rate', program.connections.perSecond, family)} ${dropFor('connection-rate')}`,
          `add @${stateSet('connections', family)} { ${peer} ct count over ${program.connections.concurrent} } ${dropFor('connection-limit')}`,
        ];
  chains.push(['connect', add(`connect${family}`, [count(HANDSHAKES.done, family), ...limits])]);
  return chains;
}

/**
 * A SYN is answered with a cookie, an ACK that brings it back opens the connection to the server; what else comes
 * without a connection has no business here. Who had a connection before the proxy came is told that it is gone: the
 * proxy would only be silent, and the client would wait for minutes.
 */
function proxyStatements(server: TcpServer, { family }: FilterPlace): string[] {
  const ip = IP[family];
  const tuple = `${ip} saddr . th sport . ${ip} daddr . th dport`;
  const set = stateSet('reset_client', family);
  return [
    // Whoever begins anew from the same port is no old client any more.
    `tcp flags & (syn|ack) == syn delete @${set} { ${tuple} }`,
    `tcp flags & (syn|rst) == 0 ${tuple} @${set} reject with tcp reset`,
    `tcp flags & (syn|rst|ack) == ack ${count(HANDSHAKES.claimed, family)}`,
    `ct state invalid,untracked synproxy ${optionsOf(server)}`,
    dropFor('syn-proxy-invalid'),
  ];
}

/**
 * What a server sends. Of an old connection it learns with its next packet that it is gone, be it only the answer to
 * the SYN of a new one from the same port; a SYN of its own says that it knows.
 */
export function serverStatements(): string[] {
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

function optionsOf({ mss, windowScale, timestamps, sack }: TcpServer): string {
  return [
    `mss ${mss}`,
    ...(windowScale === null ? [] : [`wscale ${windowScale}`]),
    ...(timestamps ? ['timestamp'] : []),
    ...(sack ? ['sack-perm'] : []),
  ].join(' ');
}
