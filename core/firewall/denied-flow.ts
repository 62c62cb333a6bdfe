import { decide, type EdgeView } from './decide.ts';
import { FIRST_PACKET } from './first-packet.ts';
import type { Packet } from './packet.ts';
import type { Policy } from './policy.ts';

/** A connection by the packet that began it, as the edge saw it come in. */
export type FlowStart = Omit<Packet, 'hopLimit' | 'fragment'>;

/** Of most systems. Only neighbour discovery asks for more, and is no connection. */
const HOP_LIMIT = 64;

/**
 * Whether what a target's rules say drops a new packet of this connection, so that connection tracking is to forget
 * it. What comes and goes by itself forgets nothing: mitigations, rates, and what filters know.
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
