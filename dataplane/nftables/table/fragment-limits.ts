import { BURST_SECONDS, type FragmentLimits } from '@portcullis/core/firewall/fragment-limits.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { EdgeRules } from './edge-rules.ts';
import type { RenderedChain } from '../chain.ts';
import { ADDRESS_TYPE, dispatchMap, IP } from '../names.ts';

/**
 * Stage 3, in a hook before reassembly (-400): spoofed first fragments would fill the reassembly memory and so block
 * all fragmented traffic. Core defines the limits. Timeouts and limits keep each set below its size, except the rates
 * by destination: a flood of a whole prefix can fill those, and then the limit on all destinations together applies.
 */
export const BEFORE_REASSEMBLY = -450;
/** The time in which the other fragment of an unknown pair must arrive for the pair to become known. */
const UNKNOWN_SECONDS = 10;
const KNOWN_SECONDS = 60;
const RATE_SECONDS = 10;
const BYPASS_SECONDS = 5;
/** The timeout of a destination's counters after its last fragment. */
const COUNTER_SECONDS = 3600;
const DESTINATIONS = 65_536;
const DEVICES = 1024;

const FAMILIES: readonly Family[] = [4, 6];

/** An atomic fragment (RFC 6946) is a whole datagram. */
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
  // A packet whose first next header is TCP or UDP is no fragment. The check avoids a walk over all headers.
  6: 'ip6 nexthdr != tcp ip6 nexthdr != udp exthdr frag exists',
};

/**
 * Marks a fragment until its reassembled datagram is evaluated. Reassembly keeps the packet type of the first fragment.
 * The value is otherwise unused here: the kernel drops packets for other hosts before prerouting.
 */
const WAS_FRAGMENT = 'meta pkttype other';
const MARK_FRAGMENT = 'meta pkttype set other';
const MARK_WHOLE = 'meta pkttype set host';

/** Sends fragments of a family to their limits. Every packet is checked, and few are fragments. */
export function gotoFragmentLimits(family: Family, devices: string | null = null): string {
  // The header field is matched first, because a device name costs more to compare.
  return [ANY[family], ...(devices === null ? [] : [devices]), `goto fragments${family}`].join(' ');
}

/**
 * Evaluates reassembled packets; complete packets were evaluated before reassembly. Restores the packet type for later
 * hooks.
 */
export function reassembledChains(hook: string, evaluate: readonly string[]): RenderedChain[] {
  return [
    { name: 'put_together', statements: [MARK_WHOLE, ...evaluate] },
    { name: 'reassembled', statements: [hook, `${WAS_FRAGMENT} goto put_together`] },
  ];
}

export function fragmentChains(rules: EdgeRules): RenderedChain[] {
  if (rules.devices.length === 0) return [];
  return FAMILIES.flatMap((family) => chainsOf(rules, family));
}

/** The statements that the chains of a family share. */
interface Phrases {
  /** The key of a source and destination. */
  readonly pair: string;
  readonly drop: string;
  readonly pass: string;
  readonly makeKnown: string;
  readonly isKnown: string;
  /** Drops above a rate for each key of a meter. */
  above(meter: string, key: string, rate: number): string;
}

function phrases(family: Family): Phrases {
  const ip = IP[family];
  const pair = `${ip} saddr . ${ip} daddr`;
  const drop = `goto fragments${family}_dropped`;
  return {
    pair,
    drop,
    pass: `goto fragments${family}_passed`,
    makeKnown: `update @fragment_known${family} { ${pair} timeout ${KNOWN_SECONDS}s }`,
    isKnown: `${pair} @fragment_known${family} goto fragments${family}_known`,
    // A meter needs its own set: a lookup of its element evaluates the limit, and fails below the rate.
    above: (meter, key, rate) => {
      const limit = `limit rate over ${rate}/second burst ${burst(rate)} packets`;
      return `update @fragment_${meter}_rate${family} { ${key} timeout ${RATE_SECONDS}s ${limit} } ${drop}`;
    },
  };
}

function chainsOf(rules: EdgeRules, family: Family): RenderedChain[] {
  const { sees, fragments, fragmentLimits } = rules;
  const ip = IP[family];
  const { isKnown } = phrases(family);
  const chain = (name: string, ...statements: string[]): RenderedChain => {
    return { name: `fragments${family}${name}`, statements };
  };
  const limited = `goto fragments${family}_limited`;
  const atomic = ATOMIC[family];
  return [
    chain(
      '_passed',
      `update @${fragmentCounters('passed', family)} { ${ip} daddr counter }`,
      'accept',
    ),
    chain(
      '_dropped',
      `update @${fragmentCounters('dropped', family)} { ${ip} daddr counter }`,
      'drop',
    ),
    chain('_known', ...knownStatements(fragmentLimits, family)),
    chain('_first', ...unknownPairStatements(rules, family, 'first', 'later')),
    chain('_later', ...unknownPairStatements(rules, family, 'later', 'first')),
    chain(
      '_limited',
      isKnown,
      `${LATER[family]} goto fragments${family}_later`,
      `goto fragments${family}_first`,
    ),
    chain(
      '',
      ...(sees === 'both' ? [] : [MARK_FRAGMENT]),
      // Other fragments may pass other edges, so reassembly would wait forever. It skips untracked packets.
      ...(fragments === 'limit' ? ['notrack'] : []),
      ...(atomic === null ? [] : [`${atomic} accept`]),
      `${ip} daddr @${dispatchMap('address', family)} ${limited}`,
      `${ip} daddr @${dispatchMap('prefix', family)} ${limited}`,
      ...(fragments === 'limit' ? [] : bypassReassembly(family)),
    ),
  ];
}

/**
 * Fragments to unprotected addresses must not be dropped, but they use the same memory. Above a limit, all fragments of
 * the device bypass reassembly for a few seconds. Not only the excess: one fragment would wait in reassembly for
 * another that bypassed it.
 */
function bypassReassembly(family: Family): string[] {
  const flooded = `@fragment_unprotected${family}`;
  return [
    `limit name "fragment_unprotected${family}" update ${flooded} { iifname timeout ${BYPASS_SECONDS}s }`,
    `iifname ${flooded} notrack`,
  ];
}

function knownStatements(limits: FragmentLimits, family: Family): string[] {
  const { pair, drop, pass, makeKnown, above } = phrases(family);
  return [
    makeKnown,
    above('pair', pair, limits.knownPair),
    above('known', `${IP[family]} daddr`, limits.knownPerDestination),
    `limit name "fragment_known${family}" ${drop}`,
    pass,
  ];
}

function unknownPairStatements(
  { fragments, fragmentLimits: limits }: EdgeRules,
  family: Family,
  position: 'first' | 'later',
  other: 'first' | 'later',
): string[] {
  const { pair, drop, pass, makeKnown, isKnown, above } = phrases(family);
  return [
    `${pair} @fragment_${other}${family} ${makeKnown}`,
    isKnown,
    above(
      position,
      `${IP[family]} daddr`,
      fragments === 'limit' ? limits.unknownUnassembled : limits.unknownPerDestination,
    ),
    `limit name "fragment_${position}${family}" ${drop}`,
    `update @fragment_${position}${family} { ${pair} timeout ${UNKNOWN_SECONDS}s }`,
    pass,
  ];
}

/** The set that counts fragments by destination. At capacity, further destinations are not counted. */
function fragmentCounters(what: 'passed' | 'dropped', family: Family): string {
  return `fragment_${what}${family}`;
}

export function declareFragmentState({ devices, fragmentLimits: limits }: EdgeRules): string[] {
  if (devices.length === 0) return [];
  return FAMILIES.flatMap((family) => {
    const address = ADDRESS_TYPE[family];
    const pair = `${address} . ${address}`;
    const unknown = setSize(limits.unknown * UNKNOWN_SECONDS);
    const known = setSize(2 * limits.unknown * KNOWN_SECONDS);
    return [
      ...declareLimit(`fragment_first${family}`, limits.unknown),
      ...declareLimit(`fragment_later${family}`, limits.unknown),
      ...declareLimit(`fragment_known${family}`, limits.known),
      ...declareLimit(`fragment_unprotected${family}`, limits.unprotected, limits.unprotectedBurst),
      ...declareSet(`fragment_unprotected${family}`, 'ifname', DEVICES, BYPASS_SECONDS),
      ...declareSet(`fragment_first${family}`, pair, unknown, UNKNOWN_SECONDS),
      ...declareSet(`fragment_later${family}`, pair, unknown, UNKNOWN_SECONDS),
      ...declareSet(`fragment_known${family}`, pair, known, KNOWN_SECONDS),
      ...declareSet(`fragment_pair_rate${family}`, pair, known, RATE_SECONDS),
      ...['first', 'later', 'known'].flatMap((position) =>
        declareSet(`fragment_${position}_rate${family}`, address, DESTINATIONS, RATE_SECONDS),
      ),
      ...(['passed', 'dropped'] as const).flatMap((what) =>
        declareSet(fragmentCounters(what, family), address, DESTINATIONS, COUNTER_SECONDS),
      ),
    ];
  });
}

function declareSet(name: string, type: string, size: number, seconds: number): string[] {
  const flags = `size ${size}; flags dynamic,timeout; timeout ${seconds}s;`;
  return [`set ${name} {`, `\ttype ${type}; ${flags}`, '}', ''];
}

function declareLimit(name: string, rate: number, most = burst(rate)): string[] {
  return [`limit ${name} {`, `\trate over ${rate}/second burst ${most} packets`, '}', ''];
}

function burst(rate: number): number {
  return Math.max(1, Math.ceil(rate * BURST_SECONDS));
}

/** The set size for a number of elements and the burst of a limit. */
function setSize(elements: number): number {
  let size = 1024;
  while (size < elements * 1.1) size *= 2;
  return size;
}
