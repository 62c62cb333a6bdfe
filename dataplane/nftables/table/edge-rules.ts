import { FRAGMENT_LIMITS, type FragmentLimits } from '@portcullis/core/firewall/fragment-limits.ts';
import { ICMP_RATES, type IcmpBudget } from '@portcullis/core/firewall/needed-icmp.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import { VALIDATED_SOURCES } from '../filters/state.ts';

/** Rates that no policy names. */
export interface EdgeLimits {
  /** Packets a second that stage 2 lets pass of each budget; the burst is one second's worth. */
  readonly icmpRates: Readonly<Record<IcmpBudget, number>>;
  /** What stage 3 lets through to reassembly. */
  readonly fragmentLimits: FragmentLimits;
  /** How many sources of a family filters remember as validated; beyond, newcomers stay unvalidated. */
  readonly validatedSources: number;
}

/** What the edge judges and how, beside the policies. */
export interface EdgeRules extends Omit<EdgeSettings, 'localAddresses'>, EdgeLimits {
  /** Packets that enter by these are judged, all others are not touched. They need not exist (yet). */
  readonly devices: readonly string[];
}

export const DEFAULT_LIMITS: EdgeLimits = {
  icmpRates: ICMP_RATES,
  fragmentLimits: FRAGMENT_LIMITS,
  validatedSources: VALIDATED_SOURCES,
};
