const MINUTE_MS = 60_000;

interface Minute {
  readonly at: string;
  readonly packets: number;
}

/** Every minute of the window, those in which nothing was dropped too; times in Unix seconds. */
export function fillMinutes(
  series: readonly Minute[],
  from: string,
  to: string,
): { readonly times: readonly number[]; readonly values: readonly number[] } {
  const minuteOf = (at: string): number => Math.floor(Date.parse(at) / MINUTE_MS);
  const known = new Map(series.map(({ at, packets }) => [minuteOf(at), packets]));
  const first = minuteOf(from);
  const count = Math.max(1, minuteOf(to) - first + 1);
  const minutes = Array.from({ length: count }, (_, index) => first + index);
  return {
    times: minutes.map((minute) => minute * 60),
    values: minutes.map((minute) => known.get(minute) ?? 0),
  };
}
