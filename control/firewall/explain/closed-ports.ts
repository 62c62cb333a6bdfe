import { PROTOCOL_NUMBERS } from '@portcullis/core/firewall/match.ts';
import { explainOpenTo } from '@portcullis/core/firewall/decide/explain.ts';
import { openTo } from '@portcullis/core/firewall/decide/open-to.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Tx } from '../../db/database.ts';
import { loadAddressPolicy } from '../../fleet/policies/policies.ts';
import { ANY_EDGE } from './any-edge.ts';
import { packetOf } from './packet.ts';
import { loadSetsOf, type SourceSetLoader } from './policy-sets.ts';

/** A port of an address. */
export interface PortOfAddress {
  readonly ip: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** A port that nobody reaches, and why, as a sentence. */
export interface ClosedPort extends PortOfAddress {
  readonly explanation: string;
}

/** Ports that the policy of their address closes to everyone. `policy` null: the accepted one of each address. */
export async function findClosedPorts(
  deps: SourceSetLoader,
  tx: Tx,
  ports: readonly PortOfAddress[],
  policy: Policy | null = null,
): Promise<readonly ClosedPort[]> {
  const closed: ClosedPort[] = [];
  for (const [ip, ofAddress] of Map.groupBy(ports, (one) => one.ip)) {
    const of = policy ?? (await loadAddressPolicy(tx, ip));
    const sourceSets = await loadSetsOf(deps, tx, of, null);
    for (const one of ofAddress) {
      const known = { protocol: PROTOCOL_NUMBERS[one.protocol], port: one.port, source: ip };
      const open = openTo({ settings: ANY_EDGE, sourceSets }, of, packetOf(ip, known));
      if (open.to === 'nobody') closed.push({ ...one, explanation: explainOpenTo(open, of) });
    }
  }
  return closed;
}
