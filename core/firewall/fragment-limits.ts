/**
 * The limits of fragments that an edge passes to reassembly, in fragments per second and per family, because each
 * family has its own reassembly memory. A pair of source and destination is *known* if a first and a later fragment of
 * it arrived within the last seconds; a flood of first fragments from forged sources makes only unknown pairs. Known
 * and unknown pairs have separate budgets, and so have first and later fragments of unknown pairs. So the later
 * fragment of a real datagram passes during a flood of first fragments and makes its pair known; from the second
 * datagram on, the flood does not affect it.
 */
export interface FragmentLimits {
  /** First and later fragments of unknown pairs to one destination, each. */
  readonly unknownPerDestination: number;
  /** The same on an edge without reassembly: the server's own memory of 4 MiB holds them for 30 or 60 s. */
  readonly unknownUnassembled: number;
  /** The same for all destinations together. */
  readonly unknown: number;
  /** Fragments of one known pair. */
  readonly knownPair: number;
  /** Fragments of all known pairs of one destination. */
  readonly knownPerDestination: number;
  /** Fragments of all known pairs. */
  readonly known: number;
  /** Fragments to destinations without a policy; above it, they pass without reassembly for a while. */
  readonly unprotected: number;
  /**
   * The burst of those, in fragments: what a flood sends until it is mitigated. Without reassembly its fragments would
   * fill the memory of the server, which keeps them for 30 or 60 s.
   */
  readonly unprotectedBurst: number;
}

export const FRAGMENT_LIMITS: FragmentLimits = {
  unknownPerDestination: 200,
  unknownUnassembled: 15,
  unknown: 1500,
  knownPair: 10_000,
  knownPerDestination: 20_000,
  known: 30_000,
  unprotected: 1000,
  unprotectedBurst: 30_000,
};

/**
 * How long the kernel may wait for the rest of a datagram. Its defaults of 30 s (60 s for IPv6) let a flood fill the
 * memory.
 */
export const REASSEMBLY_SECONDS = 2;
/** The burst of the other limits, as a share of a second. */
export const BURST_SECONDS = 0.25;
/** A page and its headers: the memory of a fragment in an Ethernet frame of 1,500 bytes. */
const FRAGMENT_BYTES = 4608;

/** Scales the limits down to the given memory per family. */
export function fitToMemory(limits: FragmentLimits, bytes: number): FragmentLimits {
  const factor = bytes / reassemblyBytes(limits);
  if (factor >= 1) return limits;
  const fit = (rate: number): number => Math.max(1, Math.floor(rate * factor));
  return {
    unknownPerDestination: fit(limits.unknownPerDestination),
    unknownUnassembled: fit(limits.unknownUnassembled),
    unknown: fit(limits.unknown),
    knownPair: fit(limits.knownPair),
    knownPerDestination: fit(limits.knownPerDestination),
    known: fit(limits.known),
    unprotected: fit(limits.unprotected),
    unprotectedBurst: fit(limits.unprotectedBurst),
  };
}

/** The most memory that fragments within these limits can occupy, per family. */
export function reassemblyBytes(limits: FragmentLimits): number {
  const { unknown, known, unprotected, unprotectedBurst } = limits;
  const ofRates = (2 * unknown + known + unprotected) * REASSEMBLY_SECONDS;
  const ofBursts = (2 * unknown + known) * BURST_SECONDS + unprotectedBurst;
  return Math.ceil((ofRates + ofBursts) * FRAGMENT_BYTES);
}
