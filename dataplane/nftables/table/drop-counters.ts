import type { RenderedChain } from '../chain.ts';
import { ADDRESS_TYPE, IP } from '../names.ts';

/**
 * The chains that count and drop the packets which the rules of an address deny.
 *
 * Counting by address costs one more lookup, a quarter of the drop rate. So at most a rate is counted by address; one
 * counter has the others, and drop-source.ts distributes them in proportion.
 * A limit takes a lock, for which all CPUs would contend in a flood. So the packet that exceeds the limit adds a
 * short-lived element to a set. While it exists, packets skip the limit: a set lookup takes no lock.
 *
 *     verdict of a map -> dropped_denied -> recently used up: one counter, drop
 *                                        -> below the rate: dropped_denied_counted -> by address, drop
 *                                        -> used up: adds the element; one counter, drop
 */
export const RULE_DROPS = ['denied', 'blocked', 'geo', 'mitigated'] as const;
export type RuleDrop = (typeof RULE_DROPS)[number];
/**
 * Packets that observing mitigations would have dropped. Counted likewise, but the chain is called by `jump`, so evaluation
 * continues.
 */
export const OBSERVED = 'observed';
export const COUNTED = [...RULE_DROPS, OBSERVED] as const;
export type Counted = (typeof COUNTED)[number];

/**
 * Packets a second that are counted by address. An insert of a new address takes 5 us: in a flood from 10,000
 * addresses, 20,000 inserts a second added 200 ns to every other packet.
 */
const COUNTED_PPS = 2_000;
/** The packets of 100 ms. A larger burst is distributed in proportion to these. */
const COUNTED_BURST = 200;
/** The time in which half of the burst refills. */
const USED_UP_MS = 50;
/** At most one element for each family and period, until the garbage collection of the kernel. */
const USED_UP_SIZE = 1_024;
const ADDRESSES = 65_536;
/** Longer than the interval at which the agent reads the counters. */
const SECONDS = 300;
const FAMILIES = [4, 6] as const;
const USED_UP = 'meta nfproto @drops_used_up';
const MARK_USED_UP = `add @drops_used_up { meta nfproto timeout ${USED_UP_MS}ms }`;

export function ruleDrop(reason: RuleDrop): string {
  return `goto dropped_${reason}`;
}

export function countedSet(reason: Counted, family: 4 | 6): string {
  return `${uncountedChain(reason)}${family}`;
}

/** The chain whose rule counters have the packets not counted by address. Named counters would cost more. */
export function uncountedChain(reason: Counted): string {
  return reason === OBSERVED ? 'observed' : `dropped_${reason}`;
}

/** The drop is a separate rule, because a rule with a full set does not match. */
export function dropChains(): RenderedChain[] {
  return COUNTED.flatMap(chainsOf);
}

function chainsOf(reason: Counted): RenderedChain[] {
  const name = uncountedChain(reason);
  const isDrop = reason !== OBSERVED;
  return [
    {
      name: `${name}_counted`,
      statements: [
        ...FAMILIES.map(
          (family) => `update @${countedSet(reason, family)} { ${IP[family]} daddr counter }`,
        ),
        ...(isDrop ? ['drop'] : []),
      ],
    },
    {
      name,
      statements: [
        `${USED_UP} counter ${isDrop ? 'drop' : 'return'}`,
        `limit name "counted_drops" goto ${name}_counted`,
        MARK_USED_UP,
        isDrop ? 'counter drop' : 'counter',
      ],
    },
  ];
}

export function declareDropCounters(): string[] {
  return [
    'limit counted_drops {',
    `\trate ${COUNTED_PPS}/second burst ${COUNTED_BURST} packets`,
    '}',
    '',
    'set drops_used_up {',
    `\ttype nf_proto; size ${USED_UP_SIZE}; flags dynamic,timeout; timeout 1s;`,
    '}',
    '',
    ...COUNTED.flatMap((reason) =>
      FAMILIES.flatMap((family) => declareCounted(countedSet(reason, family), family)),
    ),
  ];
}

function declareCounted(set: string, family: 4 | 6): string[] {
  return [
    `set ${set} {`,
    `\ttype ${ADDRESS_TYPE[family]}; size ${ADDRESSES}; flags dynamic,timeout; timeout ${SECONDS}s;`,
    '}',
    '',
  ];
}
