/** Packets and bits per second. */
export interface Peak {
  readonly pps: number;
  readonly bps: number;
}

/** An address or prefix in the last days. */
export interface SubjectPast {
  readonly subject: string;
  /** The thresholds that it has. */
  readonly thresholds: Peak;
  /** The highest traffic of each hour outside of attacks; hours with little are left out. */
  readonly hours: readonly Peak[];
  /** The peaks of its attacks. */
  readonly attacks: readonly Peak[];
}

/** The effect that thresholds would have had in that time. */
export interface Effect {
  /** Recorded attacks that stayed below both. */
  readonly missed: number;
  /** Hours of usual traffic that reached one of them. */
  readonly reported: number;
}

export interface Suggestion {
  readonly subject: string;
  /** The highest of the hours; null: never a quarter of its threshold. */
  readonly usual: Peak | null;
  readonly present: Peak & Effect;
  /** Null: nothing is known that the present ones do not suit. */
  readonly suggested: (Peak & Effect) | null;
  readonly attacks: number;
}

/** Usual traffic may double before it is an attack. */
const TIMES_USUAL = 2;

/** Pure: thresholds of twice the usual traffic, if that differs from what is set by more than a quarter. */
export function suggestThresholds(past: SubjectPast, chosen: Peak | null = null): Suggestion {
  const { subject, thresholds, hours, attacks } = past;
  const usual =
    hours.length === 0
      ? null
      : {
          pps: Math.max(...hours.map(({ pps }) => pps)),
          bps: Math.max(...hours.map(({ bps }) => bps)),
        };
  const wanted = chosen ?? (usual && suggestedFor(usual, thresholds));
  return {
    subject,
    usual,
    present: { ...thresholds, ...effectOf(thresholds, past) },
    suggested: wanted && { ...wanted, ...effectOf(wanted, past) },
    attacks: attacks.length,
  };
}

/** A unit in which the subject gets little keeps its threshold: nothing was measured there. */
function suggestedFor(usual: Peak, present: Peak): Peak | null {
  const of = (seen: number, now: number): number =>
    seen * TIMES_USUAL < now / 4 ? now : roundUp(seen * TIMES_USUAL);
  const wanted = { pps: of(usual.pps, present.pps), bps: of(usual.bps, present.bps) };
  const differs = (a: number, b: number): boolean => Math.abs(a - b) > b / 4;
  return differs(wanted.pps, present.pps) || differs(wanted.bps, present.bps) ? wanted : null;
}

function effectOf({ pps, bps }: Peak, { hours, attacks }: SubjectPast): Effect {
  const reaches = (peak: Peak): boolean => peak.pps >= pps || peak.bps >= bps;
  return {
    missed: attacks.filter((peak) => !reaches(peak)).length,
    reported: hours.filter(reaches).length,
  };
}

/** To two digits. */
function roundUp(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
  return Math.ceil(value / unit) * unit;
}
