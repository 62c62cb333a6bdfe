import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { formatCidr } from '@portcullis/core/net/cidr.ts';
import { storedCidr } from './visible-attacks.ts';
import type { AttackRow } from './store.ts';

export function attackView(attack: AttackRow, now: Date) {
  const { startedAt, mitigatedAt, endedAt } = attack;
  return {
    id: attack.id,
    // PostgreSQL prints some IPv6 addresses with dotted decimals.
    destination_ip: canonicalAddress(attack.destination) ?? attack.destination,
    prefix: formatCidr(storedCidr(attack.prefix)),
    attack_type: attack.type,
    peak_bps: attack.peakBps,
    peak_bps_formatted: formatBps(attack.peakBps),
    peak_pps: attack.peakPps,
    peak_pps_formatted: formatPps(attack.peakPps),
    started_at: secondView(startedAt),
    mitigated_at: mitigatedAt && secondView(mitigatedAt),
    ended_at: endedAt && secondView(endedAt),
    duration_seconds: secondsBetween(startedAt, endedAt ?? now),
    status: endedAt === null ? 'ongoing' : 'ended',
  };
}

/** Seconds by the displayed times. */
function secondsBetween(from: Date, to: Date): number {
  const second = (moment: Date): number => Math.floor(moment.getTime() / 1000);
  return Math.max(0, second(to) - second(from));
}

export function secondView(moment: Date): string {
  return `${moment.toISOString().slice(0, 19)}+00:00`;
}

/** With milliseconds if there are some, so that a caller's value is repeated exactly. */
export function momentView(moment: Date): string {
  return moment.toISOString().replace(/(?:\.000)?Z$/, '+00:00');
}
