import type { RenderedChain } from '../chain.ts';
import { ADDRESS_TYPE, IP } from '../names.ts';

/**
 * Where packets go that the rules of an address deny, so that somebody can say how many.
 *
 * Counting by address is a look-up more, a quarter of what a flood may be dropped at. So only so many a second are
 * counted by address; what is beyond is one counter for all, and shared out by what was counted (drop-source.ts).
 * A limit is a lock and a clock, on which all processors under a flood would wait for each other. So who finds it used
 * up says so in a set, for a moment, and until then nobody asks: reading a set waits for nobody.
 *
 *     verdict of a map -> dropped_denied -> used up a moment ago: one counter, drop
 *                                        -> below the rate: dropped_denied_counted -> by address, drop
 *                                        -> used up: says so; one counter, drop
 */
export const RULE_DROPS = ['denied', 'geo', 'mitigated'] as const;
export type RuleDrop = (typeof RULE_DROPS)[number];
/** What observing mitigations would have dropped: counted likewise, and judged on, for it is jumped to. */
export const OBSERVED = 'observed';
export const COUNTED = [...RULE_DROPS, OBSERVED] as const;
export type Counted = (typeof COUNTED)[number];

/**
 * Packets a second that are counted by address. One whose address is new takes 5 us: of a flood of 10,000 addresses
 * 20,000 a second of them made every other packet 200 ns dearer.
 */
const COUNTED_PPS = 2_000;
/** A tenth of a second's worth: where more come at once, the rest is shared out by these. */
const COUNTED_BURST = 200;
/** Half the burst is there again. */
const USED_UP_MS = 50;
/** One a moment, for each family, until the kernel has cleared them away. */
const USED_UP_SIZE = 1_024;
const ADDRESSES = 65_536;
/** Longer than an agent takes between two looks. */
const SECONDS = 300;
const FAMILIES = [4, 6] as const;
const USED_UP = 'meta nfproto @drops_used_up';
const SAY_USED_UP = `add @drops_used_up { meta nfproto timeout ${USED_UP_MS}ms }`;

export function ruleDrop(reason: RuleDrop): string {
  return `goto dropped_${reason}`;
}

export function countedSet(reason: Counted, family: 4 | 6): string {
  return `${uncountedChain(reason)}${family}`;
}

/** The chain whose rules count what is counted for nobody: named counters are dearer to find. */
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
        `${USED_UP} counter ${isDrop ? 'drop' : 'return'}`,
        `limit name "counted_drops" goto ${name}_counted`,
        SAY_USED_UP,
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
