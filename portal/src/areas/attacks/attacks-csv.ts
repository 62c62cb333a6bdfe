import type { Attack } from '@portcullis/client/index.ts';
import { toCsv } from '../../download.ts';

/** The members of the interface, under its names. */
export function attacksCsv(attacks: readonly Attack[]): string {
  const titles = [
    'id',
    'destination_ip',
    'prefix',
    'attack_type',
    'peak_bps',
    'peak_pps',
    'started_at',
    'mitigated_at',
    'ended_at',
    'duration_seconds',
    'status',
  ] as const;
  return toCsv(
    titles,
    attacks.map((attack) => titles.map((title) => attack[title])),
  );
}
