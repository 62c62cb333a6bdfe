import type { TcpProgram } from '@portcullis/core/filters/program.ts';
import { HANDSHAKES } from '@portcullis/core/filters/reasons.ts';
import type { TcpServer } from '../../filters/tcp-server.ts';
import type { AddChain } from '../chain.ts';
import type { FilterContext } from './filter-context.ts';
import { count, dropFor, sourceRate, stateSet } from './state.ts';
import { IP, type PortDispatch } from '../names.ts';

/** The chains of a port behind the SYN proxy in other hooks. Servers with equal handshake options share them. */
export function synProxyChains(
  program: TcpProgram,
  server: TcpServer,
  context: FilterContext,
  add: AddChain,
): [PortDispatch, string][] {
  const { family } = context;
  const ip = IP[family];
  const chains: [PortDispatch, string][] = [
    ['untrack', add('untrack', ['notrack'])],
    ['synproxy', add(`synproxy${family}`, proxyStatements(server, context))],
  ];
  const peer = `${ip} saddr . ${ip} daddr . th dport`;
  const limits: string[] = [];
  if (program.connections !== null) {
    const { perSecond, concurrent } = program.connections;
    limits.push(
      `${sourceRate('connection_rate', perSecond, family)} ${dropFor('connection-rate')}`,
      `add @${stateSet('connections', family)} { ${peer} ct count over ${concurrent} } ${dropFor('connection-limit')}`,
    );
  }
  if (program.newPerSecond !== null) {
    // When the set is full, it drops none.
    const above = `limit rate over ${program.newPerSecond}/second burst ${program.newPerSecond} packets`;
    const all = `update @${stateSet('new_connections', family)} { ${ip} daddr . th dport ${above} }`;
    limits.push(`${all} ${dropFor('new-connections')}`);
  }
  chains.push(['connect', add(`connect${family}`, [count(HANDSHAKES.done, family), ...limits])]);
  return chains;
}

/**
 * The proxy answers a SYN with a cookie; the ACK that returns the cookie opens the connection to the server. Other
 * packets without a connection are dropped. The kernel's proxy answers every packet with the SYN flag: it would also
 * answer a SYN-ACK from a reflector, and so flood the reflector.
 */
function proxyStatements(server: TcpServer, { family }: FilterContext): string[] {
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
