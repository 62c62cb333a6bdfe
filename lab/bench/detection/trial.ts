import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import type { FloodKind } from '../../floods/frames.ts';
import type { FloodReport } from '../../floods/schedule.ts';

/** A flood of the bench: what is sent, and what a detector should call it. */
export interface Trial {
  readonly name: string;
  readonly kind: FloodKind;
  readonly target: string;
  /** The factor of the threshold. */
  readonly factor: number;
  /** Null: a download, which is no attack. */
  readonly type: AttackType | null;
}

/**
 * The sighting of one attack, what a detector reported, and the wall clock when it was received outside of the
 * detector.
 */
export interface Sighting {
  readonly ip: string;
  readonly openedAtMs: number;
  readonly type: string | null;
  readonly peakPps: number | null;
  readonly endReportedAtMs: number | null;
  /** When it says that the attack ended; the same where it tells no other time. */
  readonly endedAtMs: number | null;
}

/** A sighting beside what was sent. */
export interface Verdict {
  readonly trial: Trial;
  /** Seconds; null: never. */
  readonly detectedAfter: number | null;
  /** Seconds until a second of the threshold was reported, the earliest that anybody can know it; null: unknown. */
  readonly reportedAfter: number | null;
  /** Per cent of what was sent. */
  readonly peakError: number | null;
  /** Seconds after the last packet; below 0: while the flood went on. Null: not until the trial was over. */
  readonly endReportedAfter: number | null;
  /** Seconds between the last packet and the end that is on record. */
  readonly endError: number | null;
  readonly type: string | null;
  readonly isNamedRightly: boolean;
}

export const FACTORS = [1.2, 2, 10] as const;
const KINDS = [
  ['udp', 'udp_flood'],
  ['syn', 'tcp_syn_flood'],
  ['dns', 'dns_amplification'],
] as const;
/** From here on; no address is attacked twice. */
const FIRST_HOST = 10;

/** Floods of one strength, of both families, and a download of each: as many packets, and no attack. */
export function trialsOf(factor: number): Trial[] {
  const kinds: readonly (readonly [FloodKind, AttackType | null])[] = [
    ...KINDS,
    ['download', null],
  ];
  const round = FACTORS.findIndex((one) => one === factor);
  return kinds.flatMap(([kind, type], index) => {
    // A download of 2 x is 45 Mbit/s; ten of them would be a flood of bytes.
    const strength = type === null ? Math.min(factor, 2) : factor;
    const host = FIRST_HOST + round * kinds.length + index;
    return [`203.0.113.${host}`, `2001:db8:5::${host}`].map((target): Trial => {
      const family = target.includes(':') ? 'IPv6' : 'IPv4';
      const name = `${kind}, ${family}, ${strength} x`;
      return { name, kind, target, factor: strength, type };
    });
  });
}

/** The first sighting of each trial's address after the flood began. `reportedAt`: by address, of exports. */
export function judge(
  trials: readonly Trial[],
  reports: ReadonlyMap<string, FloodReport>,
  sightings: readonly Sighting[],
  reportedAt: (ip: string) => number | null = () => null,
): Verdict[] {
  return trials.map((trial) => {
    const sent = reports.get(trial.name);
    if (sent === undefined) throw new Error(`nothing was sent of ${trial.name}`);
    const seen = sightings.find(({ ip }) => ip === trial.target);
    const seconds = (from: number, to: number): number => (to - from) / 1000;
    const reported = reportedAt(trial.target);
    const reportedAfter = reported === null ? null : seconds(sent.beganAtMs, reported);
    if (seen === undefined) return missed(trial, reportedAfter);
    const { openedAtMs, type, peakPps, endReportedAtMs, endedAtMs } = seen;
    return {
      trial,
      detectedAfter: seconds(sent.beganAtMs, openedAtMs),
      reportedAfter,
      peakError: peakPps === null ? null : Math.abs(peakPps / sent.peakPps - 1) * 100,
      endReportedAfter: endReportedAtMs === null ? null : seconds(sent.endedAtMs, endReportedAtMs),
      endError: endedAtMs === null ? null : Math.abs(seconds(sent.endedAtMs, endedAtMs)),
      type,
      isNamedRightly: type !== null && isSame(type, trial.type),
    };
  });
}

function missed(trial: Trial, reportedAfter: number | null): Verdict {
  return {
    trial,
    detectedAfter: null,
    reportedAfter,
    peakError: null,
    endReportedAfter: null,
    endError: null,
    type: null,
    isNamedRightly: false,
  };
}

/** FastNetMon says `syn_flood` where we say `tcp_syn_flood`. */
function isSame(type: string, expected: AttackType | null): boolean {
  return expected !== null && (type === expected || `tcp_${type}` === expected);
}
