import type { FilterProgram } from '@portcullis/core/filters/program.ts';
import { HANDSHAKES } from '@portcullis/core/filters/reasons.ts';
import type { TcpServer } from '../../filters/tcp-server.ts';
import type { AddChain } from '../chain.ts';
import type { FilterPlace } from './place.ts';
import { count, dropFor, sourceRate, stateSet } from './state.ts';
import { IP, type PortDispatch } from '../names.ts';

/** The chains that a port behind the SYN proxy needs in other hooks; servers that are alike share them. */
export function synProxyChains(
  program: FilterProgram,
  server: TcpServer,
  place: FilterPlace,
  add: AddChain,
): [PortDispatch, string][] {
  const { family } = place;
  const ip = IP[family];
  const chains: [PortDispatch, string][] = [
    ['untrack', add('untrack', ['notrack'])],
    ['synproxy', add(`synproxy${family}`, proxyStatements(server, place))],
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
 * without a connection has no business here. The kernel's proxy answers whatever has SYN set: what a reflector says
 * to our address (SYN-ACK) would be answered too, and be a flood of ours.
 */
function proxyStatements(server: TcpServer, { family }: FilterPlace): string[] {
  return [
    `tcp flags & (syn|rst|ack) == ack ${count(HANDSHAKES.claimed, family)}`,
    `tcp flags & syn == syn tcp flags & (fin|rst|ack) != 0 ${dropFor('syn-proxy-invalid')}`,
    `ct state invalid,untracked synproxy ${optionsOf(server)}`,
    dropFor('syn-proxy-invalid'),
  ];
}

function optionsOf({ mss, windowScale, timestamps, sack }: TcpServer): string {
  return [
    `mss ${mss}`,
    ...(windowScale === null ? [] : [`wscale ${windowScale}`]),
    ...(timestamps ? ['timestamp'] : []),
    ...(sack ? ['sack-perm'] : []),
  ].join(' ');
}
