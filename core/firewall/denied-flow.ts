import { decide, type EdgeView } from './decide/decide.ts';
import { FIRST_PACKET } from './decide/first-packet.ts';
import type { Packet } from './packet.ts';
import type { Policy } from './policy.ts';

/** A connection, identified by its first incoming packet. */
export type FlowStart = Omit<Packet, 'hopLimit' | 'fragment'>;

/** The hop limit of most systems. Only neighbour discovery requires more, and it is no connection. */
const HOP_LIMIT = 64;

/**
 * Whether the rules of a target deny a new packet of this connection, so that its conntrack entry must be removed.
 * Mitigations, rates and filter state are temporary and remove nothing.
 */
export function deniesFlow(edge: EdgeView, flow: FlowStart): boolean {
  const policies = { lookup: (address: string) => rulesOf(edge.policies.lookup(address)) };
  const packet: Packet = { ...flow, hopLimit: HOP_LIMIT, fragment: 'none' };
  return decide({ ...edge, policies }, packet, FIRST_PACKET).action === 'drop';
}

function rulesOf(policy: Policy | null): Policy | null {
  return policy === null || policy.mitigations.length === 0
    ? policy
    : { ...policy, mitigations: [] };
}
