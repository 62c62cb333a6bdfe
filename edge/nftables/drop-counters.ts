import type { RenderedChain } from './base-chain.ts';
import { ADDRESS_TYPE, IP } from './names.ts';

/**
 * Where packets go that the rules of an address deny, so that somebody can say how many.
 *
 * Counting by address is a look-up more, a quarter of what a flood may be dropped at. So only so many a second are
 * counted by address; what is beyond is one counter for all, and shared out by what was counted (drop-source.ts).
 *
 *     verdict of a map -> dropped_denied -> below the rate: dropped_denied_counted -> by address, drop
 *                                        -> above: one counter, drop
 */
export const RULE_DROPS = ['denied', 'geo', 'mitigated'] as const;
export type RuleDrop = (typeof RULE_DROPS)[number];
/** What observing mitigations would have dropped: counted likewise, and judged on, for it is jumped to. */
export const OBSERVED = 'observed';
export const COUNTED = [...RULE_DROPS, OBSERVED] as const;
export type Counted = (typeof COUNTED)[number];

/**
 * Of packets a second that are counted by address; the burst is one second's worth. Such a packet takes 5 us, and of
 * a flood of 10,000 addresses 20,000 a second of them made every other packet 200 ns dearer.
 */
const COUNTED_PPS = 2_000;
const ADDRESSES = 65_536;
/** Longer than an agent takes between two looks. */
const SECONDS = 300;
const FAMILIES = [4, 6] as const;

export function ruleDrop(reason: RuleDrop): string {
  return `goto dropped_${reason}`;
}

export function countedSet(reason: Counted, family: 4 | 6): string {
  return `${uncountedChain(reason)}${family}`;
}

/** The chain whose last rule counts what is counted for nobody: named counters are dearer to find. */
export function uncountedChain(reason: Counted): string {
  return reason === OBSERVED ? 'observed' : `dropped_${reason}`;
}

/** A set that is full does not match, so the drop is a rule of its own. */
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
        `limit name "counted_drops" goto ${name}_counted`,
        isDrop ? 'counter drop' : 'counter',
      ],
    },
  ];
}

export function declareDropCounters(): string[] {
  return [
    'limit counted_drops {',
    `\trate ${COUNTED_PPS}/second burst ${COUNTED_PPS} packets`,
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
