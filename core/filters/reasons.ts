/**
 * Why a filter dropped a packet. The number stands for the reason inside the kernel: never change one,
 * a table of an older version may be read by a newer agent.
 */
export const FILTER_REASONS = {
  'no-greeting': 1,
  'unvalidated-rate': 2,
  budget: 3,
  'validated-rate': 4,
  'syn-proxy-invalid': 5,
  'connection-rate': 6,
  'connection-limit': 7,
} as const;

/**
 * Counted beside the reasons, of ports with a SYN proxy: packets that claim to end a handshake, and handshakes that
 * did. The kernel drops the others itself, without saying so.
 */
export const HANDSHAKES = { claimed: 100, done: 101 } as const;

export type FilterReason = keyof typeof FILTER_REASONS;
