import { decide, type EdgeView, type Verdict } from '@portcullis/core/firewall/decide.ts';
import type { EdgeSettings, Packet, PacketState } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import type { Desired } from '@portcullis/edge/desired.ts';
import type { Numbered } from './frames.ts';
import { VLANS } from './vlans.ts';
import { JUDGED_DEVICES, LOCAL } from './wire.ts';

/** What an edge is given, and the same as the reference evaluator reads it. */
export interface State {
  readonly desired: Desired;
  readonly policies: readonly Policy[];
  readonly edge: EdgeView;
}

const MANAGEMENT = [
  { protocol: 'tcp', port: 22 },
  { protocol: 'udp', port: 23 },
] as const;

export function stateOf(
  policies: readonly Policy[],
  sourceSets: SourceSets,
  generation: number,
  change: Partial<Pick<EdgeSettings, 'sees' | 'fragments'>> = {},
): State {
  const settings = {
    management: MANAGEMENT,
    sees: 'both',
    fragments: 'reassemble',
    ...change,
  } as const;
  const devices = [...JUDGED_DEVICES, 'not-there'];
  const desired: Desired = {
    generation: generation + 1,
    policies: new Map(policies.map((policy) => [policy.target, policy])),
    sourceSets,
    settings: { ...settings, name: 'fra1', site: 'fra', devices },
  };
  const edge: EdgeView = {
    settings: { ...settings, localAddresses: Object.values(LOCAL) },
    policies: createPolicyTable(policies),
    sourceSets,
  };
  return { desired, policies, edge };
}

/** What the kernel knows beside the policies. */
export interface Known {
  /** Connection tracking has it as a reply. */
  readonly returns: (packet: Packet) => boolean;
  /** The filters of its port take its source for validated. */
  readonly validated: (packet: Packet) => boolean;
}

export const NOTHING_KNOWN: Known = { returns: () => false, validated: () => false };

/** The reference evaluator's verdict; what enters by a device that is not named is not judged. */
export function expectedOf(
  { edge }: State,
  { packet, form }: Numbered,
  known: Known = NOTHING_KNOWN,
): Verdict {
  if (form.vlan === VLANS.untouched) {
    return { action: 'pass', stage: 'default', ref: null, observed: [] };
  }
  // Where replies go another way nobody is ever validated, and only rates are left.
  const validated = edge.settings.sees === 'inbound' || known.validated(packet);
  return decide(edge, packet, {
    returnTraffic: known.returns(packet),
    icmpWithinRate: true,
    fragmentsWithinLimit: true,
    answered: known.returns(packet),
    aboveLimit: [],
    filters: validated ? {} : everyFilterDrops(edge.policies.lookup(packet.destination)),
  });
}

/** But the SYN proxy, which judges where it answers: behind this hook, and behind any host's own DNAT. */
function everyFilterDrops(policy: Policy | null): PacketState['filters'] {
  const here = (policy?.filters ?? []).filter(({ type }) => type !== 'tcp-syn-proxy');
  return Object.fromEntries(here.map(({ ref }) => [ref, 'drop'] as const));
}
