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

export function countedSet(reason: RuleDrop, family: 4 | 6): string {
  return `dropped_${reason}${family}`;
}

/** What observing mitigations would have dropped, by address. */
export function observedSet(family: 4 | 6): string {
  return `observed${family}`;
}

/** The chain whose last rule counts what is counted for nobody: named counters are dearer to find. */
export function uncountedChain(reason: RuleDrop): string {
  return `dropped_${reason}`;
}

/** A set that is full does not match, so the drop is a rule of its own. */
export function dropChains(): RenderedChain[] {
  return [...RULE_DROPS.flatMap(chainsOfReason), ...OBSERVED];
}

/** Counted like a drop, and judged on: it is jumped to. */
const OBSERVED: readonly RenderedChain[] = [
  {
    name: 'observed_mitigation',
    statements: FAMILIES.map(
      (family) =>
        `meta nfproto ipv${family} limit name "counted_drops" update @${observedSet(family)} { ${IP[family]} daddr counter }`,
    ),
  },
];

function chainsOfReason(reason: RuleDrop): RenderedChain[] {
  return [
    {
      name: `dropped_${reason}_counted`,
      statements: [
        ...FAMILIES.map(
          (family) => `update @${countedSet(reason, family)} { ${IP[family]} daddr counter }`,
        ),
        'drop',
      ],
    },
    {
      name: uncountedChain(reason),
      statements: [`limit name "counted_drops" goto dropped_${reason}_counted`, 'counter drop'],
    },
  ];
}

export function declareDropCounters(): string[] {
  return [
    'limit counted_drops {',
    `\trate ${COUNTED_PPS}/second burst ${COUNTED_PPS} packets`,
    '}',
    '',
    ...RULE_DROPS.flatMap((reason) =>
      FAMILIES.flatMap((family) => declareCounted(countedSet(reason, family), family)),
    ),
    ...FAMILIES.flatMap((family) => declareCounted(observedSet(family), family)),
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
