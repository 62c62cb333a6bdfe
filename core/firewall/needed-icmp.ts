import type { Family } from '../net/address.ts';
import { ICMP_NUMBERS } from './match.ts';
import type { Packet } from './packet.ts';

/**
 * ICMP without which networks break: path MTU discovery, time exceeded, and on IPv6 neighbour discovery,
 * believed only with hop limit 255, which nobody off the link can send (RFC 4861 section 11.2).
 */
export const NEEDED_ICMP: readonly NeededIcmp[] = [
  { family: 4, type: 3, code: 4, budget: 'errors', hopLimit: null },
  { family: 4, type: 11, code: null, budget: 'errors', hopLimit: null },
  { family: 6, type: 2, code: null, budget: 'errors', hopLimit: null },
  { family: 6, type: 3, code: null, budget: 'errors', hopLimit: null },
  { family: 6, type: 133, code: null, budget: 'neighbours', hopLimit: 255 },
  { family: 6, type: 134, code: null, budget: 'neighbours', hopLimit: 255 },
  { family: 6, type: 135, code: null, budget: 'neighbours', hopLimit: 255 },
  { family: 6, type: 136, code: null, budget: 'neighbours', hopLimit: 255 },
  { family: 6, type: 137, code: null, budget: 'neighbours', hopLimit: 255 },
];

export interface NeededIcmp {
  readonly family: Family;
  readonly type: number;
  readonly code: number | null;
  /** Each budget has a rate of its own, so that a flood of errors cannot starve neighbour discovery. */
  readonly budget: IcmpBudget;
  readonly hopLimit: number | null;
}

export type IcmpBudget = 'errors' | 'neighbours';

/** Packets per second that always pass; above it, the later stages decide. */
export const ICMP_RATES: Readonly<Record<IcmpBudget, number>> = { errors: 1000, neighbours: 1000 };

export function isNeededIcmp(packet: Packet): boolean {
  if (packet.icmp === null || packet.protocol !== ICMP_NUMBERS[packet.family]) return false;
  const { type, code } = packet.icmp;
  return NEEDED_ICMP.some(
    (needed) =>
      needed.family === packet.family &&
      needed.type === type &&
      (needed.code === null || needed.code === code) &&
      (needed.hopLimit === null || needed.hopLimit === packet.hopLimit),
  );
}
