import { usageError } from './exit.ts';

/** Whole milliseconds, seconds or minutes: `500ms`, `120s`, `2m`. At most a day. */
export function parseDuration(text: string, option: string): number {
  const match = /^([1-9]\d{0,7})(ms|s|m)$/.exec(text);
  const unitMs = { ms: 1, s: 1_000, m: 60_000 }[match?.[2] ?? ''] ?? Number.NaN;
  const durationMs = Number(match?.[1]) * unitMs;
  if (!(durationMs <= 86_400_000)) {
    throw usageError(`${option} ${text} is not a time such as 120s, 2m or 500ms`);
  }
  return durationMs;
}
