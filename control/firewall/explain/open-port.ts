import { explainOpenTo, explainVerdict } from '@portcullis/core/firewall/decide/explain.ts';
import {
  type OpenTo,
  openTo,
  type SourceOutcome,
} from '@portcullis/core/firewall/decide/open-to.ts';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { AddressState } from '../objects.ts';
import { ANY_EDGE } from './any-edge.ts';

/** A port of an address: to whom it is open, by what, and whether edges do the same. */
export interface PortOpening {
  readonly open: OpenTo;
  readonly explanation: string;
  /** Its outcomes, each with its sentence. */
  readonly decisions: readonly (SourceOutcome & { readonly explanation: string })[];
  /** Slugs. */
  readonly filters: readonly string[];
  readonly propagation: 'live' | 'pending' | 'unenforced';
}

interface PortPolicies {
  /** The one that is asked about. */
  readonly policy: Policy;
  /** The policy that every edge has; null: not loaded. */
  readonly live: Policy | null;
  readonly setsOf: (policy: Policy) => Promise<SourceSets>;
  readonly state: Pick<AddressState, 'enforcement'>;
}

/** To whom the port of a packet is open, whatever the packet's source. */
export async function openPort(
  { policy, live, setsOf, state }: PortPolicies,
  packet: Packet,
): Promise<PortOpening> {
  const evaluate = async (of: Policy): Promise<OpenTo> =>
    openTo({ settings: ANY_EDGE, sourceSets: await setsOf(of) }, of, packet);
  const open = await evaluate(policy);
  const filters = filtersOf(policy, packet);
  const isLive =
    live === null ||
    live === policy ||
    (isSame(open, await evaluate(live)) && filters.join(' ') === filtersOf(live, packet).join(' '));
  return {
    open,
    explanation: explainOpenTo(open, policy),
    decisions: open.outcomes.map((outcome) => ({
      ...outcome,
      explanation: explainVerdict(outcome.verdict, policy),
    })),
    filters,
    propagation: state.enforcement === 'none' ? 'unenforced' : isLive ? 'live' : 'pending',
  };
}

function isSame(a: OpenTo, b: OpenTo): boolean {
  const textOf = ({ to, outcomes }: OpenTo): string =>
    JSON.stringify([
      to,
      outcomes.map(({ verdict, source }) => [verdict.action, verdict.stage, source]),
    ]);
  return textOf(a) === textOf(b);
}

function filtersOf(policy: Policy, { destinationPort: port, protocol, family }: Packet): string[] {
  const transport = (['tcp', 'udp'] as const).find(
    (one) => protocolNumber(one, family) === protocol,
  );
  if (transport === undefined) return [];
  return policy.filters
    .filter((filter) => {
      const known = findFilter(filter.type);
      return filter.port === port && (known === null || known[transport] !== null);
    })
    .map(({ type }) => type);
}
