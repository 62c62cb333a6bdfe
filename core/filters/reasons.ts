/**
 * The reason for which a filter dropped a packet. The kernel table contains the numbers: never change one, because a
 * newer agent may read the table of an older version.
 */
export const FILTER_REASONS = {
  'no-greeting': 1,
  'unvalidated-rate': 2,
  budget: 3,
  'validated-rate': 4,
  'syn-proxy-invalid': 5,
  'connection-rate': 6,
  'connection-limit': 7,
  'no-data': 8,
  'no-opening': 9,
  'packet-length': 10,
  'source-port': 11,
  'new-connections': 12,
} as const;

/** Counters of what a filter let through, in the same set: packets of new sources, and sources that it validated. */
export const FILTER_PASSES = { greeted: 110, validated: 111 } as const;

export type FilterPass = keyof typeof FILTER_PASSES;

/**
 * Additional counters of ports with a SYN proxy: packets that claim to complete a handshake, and completed handshakes.
 * The kernel drops the difference without counting it.
 */
export const HANDSHAKES = { claimed: 100, done: 101 } as const;

export type FilterReason = keyof typeof FILTER_REASONS;
