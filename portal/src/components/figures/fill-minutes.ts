const MINUTE_S = 60;

interface At {
  readonly at: string;
}

/** Every minute from one moment to another, each with its sample; undefined where nothing was measured. */
export function fillMinutes<Sample extends At>(
  samples: readonly Sample[],
  from: string,
  to: string,
): { readonly times: number[]; readonly samples: (Sample | undefined)[] } {
  const byMinute = new Map(samples.map((sample) => [minuteOf(sample.at), sample]));
  const times: number[] = [];
  for (let minute = minuteOf(from); minute <= minuteOf(to); minute += MINUTE_S) times.push(minute);
  return { times, samples: times.map((minute) => byMinute.get(minute)) };
}

/** Unix seconds. */
function minuteOf(at: string): number {
  return Math.floor(Date.parse(at) / 1000 / MINUTE_S) * MINUTE_S;
}
