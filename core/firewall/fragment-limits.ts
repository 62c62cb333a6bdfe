/**
 * How many fragments a second an edge lets through to reassembly. Every rate is in fragments a second, of each
 * family for itself, because each family has its own reassembly memory.
 *
 * A pair of source and destination is *known* when a first and a later fragment of it came within the last
 * seconds: whoever floods with first fragments of invented sources makes strangers only. The budgets of
 * strangers and of known pairs are apart, and so are those of first and of later fragments of strangers. So
 * the later part of a real datagram gets through a flood of first parts and makes its source known; from the
 * second datagram on, the flood does not reach it.
 */
export interface FragmentLimits {
  /** First fragments of strangers, and later ones of strangers: each so many to one destination. */
  readonly strangersPerDestination: number;
  /** The same where the edge puts nothing together: then a server's own memory, of 4 MiB for 30 or 60 s, holds them. */
  readonly strangersUnassembled: number;
  /** As above, to all destinations together. */
  readonly strangers: number;
  /** Of one known pair. */
  readonly knownPair: number;
  /** Of all known pairs of one destination. */
  readonly knownPerDestination: number;
  /** Of all known pairs. */
  readonly known: number;
  /** To destinations without a policy; above, they pass without being put together for a while. */
  readonly unprotected: number;
}

export const FRAGMENT_LIMITS: FragmentLimits = {
  strangersPerDestination: 200,
  strangersUnassembled: 15,
  strangers: 1500,
  knownPair: 10_000,
  knownPerDestination: 20_000,
  known: 30_000,
  unprotected: 1000,
};

/** How long the kernel may wait for the rest of a datagram. Its own 30 s (60 s for IPv6) make a flood's memory. */
export const REASSEMBLY_SECONDS = 2;
/** Part of a second that a limit may have saved up. */
export const BURST_SECONDS = 0.25;
/** A page and its headers: the most that a fragment of an Ethernet frame of 1,500 bytes occupies. */
const FRAGMENT_BYTES = 4608;

/** The same in proportion where they may fill no more than so many bytes of a family. */
export function fitToMemory(limits: FragmentLimits, bytes: number): FragmentLimits {
  const factor = bytes / reassemblyBytes(limits);
  if (factor >= 1) return limits;
  const fit = (rate: number): number => Math.max(1, Math.floor(rate * factor));
  return {
    strangersPerDestination: fit(limits.strangersPerDestination),
    strangersUnassembled: fit(limits.strangersUnassembled),
    strangers: fit(limits.strangers),
    knownPair: fit(limits.knownPair),
    knownPerDestination: fit(limits.knownPerDestination),
    known: fit(limits.known),
    unprotected: fit(limits.unprotected),
  };
}

/** What fragments within these limits can fill at most, of one family: with more memory nothing is turned away. */
export function reassemblyBytes(limits: FragmentLimits): number {
  const perSecond = 2 * limits.strangers + limits.known + limits.unprotected;
  return Math.ceil(perSecond * (REASSEMBLY_SECONDS + BURST_SECONDS) * FRAGMENT_BYTES);
}
