import { FRAGMENT_LIMITS, type FragmentLimits } from '@portcullis/core/firewall/fragment-limits.ts';
import { ICMP_RATES, type IcmpBudget } from '@portcullis/core/firewall/needed-icmp.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import { VALIDATED_SOURCES } from '../filters/state.ts';

/** The limits that apply to the whole edge. */
export interface EdgeLimits {
  /** The packets a second that stage 2 accepts of each budget; the burst is one second. */
  readonly icmpRates: Readonly<Record<IcmpBudget, number>>;
  /** The fragments that stage 3 passes to reassembly. */
  readonly fragmentLimits: FragmentLimits;
  /** The number of validated sources of each family. At capacity, new sources stay unvalidated. */
  readonly validatedSources: number;
}

/** The rules of the edge besides its policies. */
export interface EdgeRules extends Omit<EdgeSettings, 'localAddresses'>, EdgeLimits {
  /** Packets that enter by these devices are evaluated; all others are ignored. The devices need not exist. */
  readonly devices: readonly string[];
}

export const DEFAULT_LIMITS: EdgeLimits = {
  icmpRates: ICMP_RATES,
  fragmentLimits: FRAGMENT_LIMITS,
  validatedSources: VALIDATED_SOURCES,
};
