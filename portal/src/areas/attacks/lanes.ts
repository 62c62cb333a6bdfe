import type { Attack } from '@portcullis/client/index.ts';

export interface Bar {
  readonly attack: Attack;
  /** Percent of the width. */
  readonly left: number;
  readonly width: number;
}

export interface Lane {
  readonly ip: string;
  readonly bars: readonly Bar[];
}

/** A lane for each attacked address, those with the newest attack first, as many as there is room for. */
export function lanesOf(
  attacks: readonly Attack[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  maxLanes: number,
): { readonly lanes: readonly Lane[]; readonly hidden: number } {
  const span = Math.max(1, toMs - fromMs);
  const share = (ms: number): number => (Math.min(toMs, Math.max(fromMs, ms)) - fromMs) / span;
  const byAddress = [...Map.groupBy(attacks, ({ destination_ip }) => destination_ip)];
  const lanes = byAddress.slice(0, maxLanes).map(([ip, own]) => ({
    ip,
    bars: own.map((attack) => {
      const left = share(Date.parse(attack.started_at)) * 100;
      const end = attack.ended_at === null ? toMs : Date.parse(attack.ended_at);
      return { attack, left, width: share(end) * 100 - left };
    }),
  }));
  return { lanes, hidden: byAddress.length - lanes.length };
}

/** Moments of the axis at equal distances, both ends included. */
export function ticksOf(fromMs: number, toMs: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => fromMs + ((toMs - fromMs) * n) / (count - 1));
}
