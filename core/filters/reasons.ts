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

export type FilterReason = keyof typeof FILTER_REASONS;
