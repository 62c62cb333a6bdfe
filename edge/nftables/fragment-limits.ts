import { BURST_SECONDS } from '@portcullis/core/firewall/fragment-limits.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { EdgeRules, RenderedChain } from './base-chain.ts';
import { ADDRESS_TYPE, dispatchMap, IP } from './names.ts';

/**
 * Stage 3, in a hook of its own before the kernel reassembles (-400): spoofed first fragments would fill its
 * memory, and then no fragmented traffic passes at all. What the limits mean stands in core.
 *
 * Every set has a size that its own timeout and the limit in front of it keep from filling up, except the
 * rates by destination: whoever sprays a whole prefix can fill those, and is then held by the limit on all
 * destinations together.
 */
const BEFORE_REASSEMBLY = -450;
/** A stranger's other part must come within so many seconds for the pair to be known. */
const STRANGER_SECONDS = 10;
const KNOWN_SECONDS = 60;
const RATE_SECONDS = 10;
/** Counters of a destination are kept so long after its last fragment. */
const COUNTER_SECONDS = 3600;
const DESTINATIONS = 65_536;

const FAMILIES: readonly Family[] = [4, 6];

/** An atomic fragment (RFC 6946) is a whole datagram, and no part of one. */
const ATOMIC: Readonly<Record<Family, string | null>> = {
  4: null,
  6: 'frag frag-off 0 frag more-fragments 0',
};
const LATER: Readonly<Record<Family, string>> = {
  4: 'ip frag-off & 0x1fff != 0',
  6: 'frag frag-off != 0',
};
const ANY: Readonly<Record<Family, string>> = {
  4: 'ip frag-off & 0x3fff != 0',
  6: 'exthdr frag exists',
};

/** `devices`: the match on the devices that are judged. */
export function fragmentChains(rules: EdgeRules, devices: string | null): RenderedChain[] {
  if (devices === null) return [];
  const entry = [
    `type filter hook prerouting priority ${BEFORE_REASSEMBLY}; policy accept;`,
    ...FAMILIES.map((family) => `${devices} ${ANY[family]} goto fragments${family}`),
  ];
  return [
    ...FAMILIES.flatMap((family) => chainsOf(rules, family)),
    { name: 'fragments', statements: entry },
  ];
}

function chainsOf({ fragments, fragmentLimits: limits }: EdgeRules, family: Family): RenderedChain[] {
  const ip = IP[family];
  const pair = `${ip} saddr . ${ip} daddr`;
  const drop = `goto fragments${family}_dropped`;
  const pass = `goto fragments${family}_passed`;
  const over = (rate: number): string => `limit rate over ${rate}/second burst ${burst(rate)} packets`;
  // Not in the sets that rules look up: to find an element is to ask its limit, and to fail within it.
  const above = (set: string, key: string, rate: number): string =>
    `update @fragment_${set}_rate${family} { ${key} timeout ${RATE_SECONDS}s ${over(rate)} } ${drop}`;
  const makeKnown = `update @fragment_known${family} { ${pair} timeout ${KNOWN_SECONDS}s }`;
  const isKnown = `${pair} @fragment_known${family} goto fragments${family}_known`;
  const stranger = (part: 'first' | 'later', other: 'first' | 'later'): string[] => [
    `${pair} @fragment_${other}${family} ${makeKnown}`,
    isKnown,
    above(part, `${ip} daddr`, limits.strangersPerDestination),
    `limit name "fragment_${part}${family}" ${drop}`,
    `update @fragment_${part}${family} { ${pair} timeout ${STRANGER_SECONDS}s } ${pass}`,
    pass,
  ];
  return [
    {
      name: `fragments${family}_passed`,
      statements: [`update @fragment_passed${family} { ${ip} daddr counter }`, 'accept'],
    },
    {
      name: `fragments${family}_dropped`,
      statements: [`update @fragment_dropped${family} { ${ip} daddr counter }`, 'drop'],
    },
    {
      name: `fragments${family}_known`,
      statements: [
        makeKnown,
        above('pair', pair, limits.knownPair),
        above('known', `${ip} daddr`, limits.knownPerDestination),
        `limit name "fragment_known${family}" ${drop}`,
        pass,
      ],
    },
    { name: `fragments${family}_later`, statements: stranger('later', 'first') },
    {
      name: `fragments${family}_limited`,
      statements: [
        isKnown,
        `${LATER[family]} goto fragments${family}_later`,
        `goto fragments${family}_first`,
      ],
    },
    { name: `fragments${family}_first`, statements: stranger('first', 'later') },
    {
      name: `fragments${family}`,
      statements: [
        // Parts of a datagram may cross other edges and would wait for ever; reassembly skips what is not tracked.
        ...(fragments === 'limit' ? ['notrack'] : []),
        ...(ATOMIC[family] === null ? [] : [`${ATOMIC[family]} accept`]),
        `${ip} daddr @${dispatchMap('address', family)} goto fragments${family}_limited`,
        `${ip} daddr @${dispatchMap('prefix', family)} goto fragments${family}_limited`,
        // Not ours to drop, but they share the memory.
        ...(fragments === 'limit' ? [] : [`limit name "fragment_unprotected${family}" notrack`]),
      ],
    },
  ];
}

/** Named limits and sets, as lines of the table. */
export function declareFragmentState({ devices, fragmentLimits: limits }: EdgeRules): string[] {
  if (devices.length === 0) return [];
  return FAMILIES.flatMap((family) => {
    const address = ADDRESS_TYPE[family];
    const pair = `${address} . ${address}`;
    const strangers = setSize(limits.strangers * STRANGER_SECONDS);
    const known = setSize(2 * limits.strangers * KNOWN_SECONDS);
    return [
      ...declareLimit(`fragment_first${family}`, limits.strangers),
      ...declareLimit(`fragment_later${family}`, limits.strangers),
      ...declareLimit(`fragment_known${family}`, limits.known),
      ...declareLimit(`fragment_unprotected${family}`, limits.unprotected),
      ...declareSet(`fragment_first${family}`, pair, strangers, STRANGER_SECONDS),
      ...declareSet(`fragment_later${family}`, pair, strangers, STRANGER_SECONDS),
      ...declareSet(`fragment_known${family}`, pair, known, KNOWN_SECONDS),
      ...declareSet(`fragment_pair_rate${family}`, pair, known, RATE_SECONDS),
      ...['first', 'later', 'known'].flatMap((part) =>
        declareSet(`fragment_${part}_rate${family}`, address, DESTINATIONS, RATE_SECONDS),
      ),
      ...['passed', 'dropped'].flatMap((what) =>
        declareSet(`fragment_${what}${family}`, address, DESTINATIONS, COUNTER_SECONDS),
      ),
    ];
  });
}

function declareSet(name: string, type: string, size: number, seconds: number): string[] {
  const flags = `size ${size}; flags dynamic,timeout; timeout ${seconds}s;`;
  return [`set ${name} {`, `\ttype ${type}; ${flags}`, '}', ''];
}

function declareLimit(name: string, rate: number): string[] {
  return [`limit ${name} {`, `\trate over ${rate}/second burst ${burst(rate)} packets`, '}', ''];
}

function burst(rate: number): number {
  return Math.max(1, Math.ceil(rate * BURST_SECONDS));
}

/** Room for so many and what a limit lets through in a burst. */
function setSize(elements: number): number {
  let size = 1024;
  while (size < elements * 1.1) size *= 2;
  return size;
}
