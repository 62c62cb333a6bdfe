import type { Attack } from '@portcullis/client/index.ts';
import { toCsv } from '../../download.ts';

export type AttackSort = 'started' | 'duration' | 'bps' | 'pps' | 'mitigated';

/** Seconds from the start to the first confirmed mitigation; null without one. */
export function mitigatedAfter({ started_at, mitigated_at }: Attack): number | null {
  if (mitigated_at === null) return null;
  return Math.max(0, (Date.parse(mitigated_at) - Date.parse(started_at)) / 1000);
}

const VALUES: Readonly<Record<AttackSort, (attack: Attack) => number>> = {
  started: ({ started_at }) => Date.parse(started_at),
  duration: ({ duration_seconds }) => duration_seconds,
  bps: ({ peak_bps }) => peak_bps,
  pps: ({ peak_pps }) => peak_pps,
  // What was never mitigated took longest.
  mitigated: (attack) => mitigatedAfter(attack) ?? Infinity,
};

export function sortAttacks(
  attacks: readonly Attack[],
  by: AttackSort,
  isDescending: boolean,
): Attack[] {
  const value = VALUES[by];
  const order = (a: Attack, b: Attack): number => {
    const [first, second] = [value(a), value(b)];
    return (first < second ? -1 : Number(first > second)) || a.id - b.id;
  };
  return attacks.toSorted((a, b) => (isDescending ? order(b, a) : order(a, b)));
}

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
