import { type Case, median } from '../measure.ts';
import type { Range } from '../generator/traffic.ts';

/** Of the issue, as of the research that it was written with: there making and carrying a packet cost 320 ns. */
export const CARRIED_NS = 320;
const PROBE = 200;
const PACKETS = 100_000;
const ROUNDS = 5;

/**
 * How much the generator must do besides, so that making and carrying a packet takes so many nanoseconds on this
 * machine now. `raw`: packets that are dropped by the least there is, so nothing else is in their time.
 */
export async function workThatTakes(
  ns: number,
  range: Range,
  { target, plan }: Pick<Case, 'target' | 'plan'>,
): Promise<number> {
  const taken = { without: [] as number[], with: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    taken.without.push((await range.send(target, plan, PACKETS)).ns);
    taken.with.push((await range.send(target, { ...plan, work: PROBE }, PACKETS)).ns);
  }
  return workFor(ns, median(taken.without), (median(taken.with) - median(taken.without)) / PROBE);
}

/** Pure: none where making and carrying takes as long already. */
export function workFor(ns: number, without: number, each: number): number {
  return each > 0 ? Math.max(0, Math.round((ns - without) / each)) : 0;
}
