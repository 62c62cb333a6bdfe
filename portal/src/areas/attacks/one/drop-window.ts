import type { Attack } from '@portcullis/client/index.ts';

const MINUTE_MS = 60_000;
const KEPT_MS = 1440 * MINUTE_MS;

/** The whole minutes in which an attack was, as far as drops are kept; null: none of them. */
export function dropWindow(
  { started_at, ended_at }: Pick<Attack, 'started_at' | 'ended_at'>,
  nowMs: number,
): { readonly from: string; readonly to: string } | null {
  const minute = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS;
  const earliest = minute(nowMs - KEPT_MS) + MINUTE_MS;
  const from = Math.max(earliest, minute(Date.parse(started_at)));
  const end = ended_at === null ? nowMs : Math.min(nowMs, minute(Date.parse(ended_at)) + MINUTE_MS);
  if (end <= earliest) return null;
  return { from: new Date(from).toISOString(), to: new Date(Math.max(from, end)).toISOString() };
}
