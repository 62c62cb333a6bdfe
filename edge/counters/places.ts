import type { EarlyDrop } from '../xdp/early-drop.ts';
import type { CounterPlace } from './kernel-source.ts';

/** Where XDP programs are on every device of the edge: they see packets before anything is done with them. */
export function xdpPlace(earlyDrop: EarlyDrop): CounterPlace {
  return { mode: 'xdp', driver: () => earlyDrop.counters() };
}
