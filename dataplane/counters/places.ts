import type { EarlyDrop } from '../xdp/early-drop.ts';
import type { CounterPlace } from './kernel-source.ts';
import { NftCounters, type NftCountersOptions } from './nftables/driver.ts';

/** Where XDP programs are on every device of the edge: they see packets before anything is done with them. */
export function xdpPlace(earlyDrop: EarlyDrop): CounterPlace {
  return { mode: 'xdp', driver: () => earlyDrop.counters() };
}

/** Everywhere else: what XDP programs on some of the devices drop is not seen. */
export function nftablesPlace(options: NftCountersOptions): CounterPlace {
  const counters = new NftCounters(options);
  return {
    mode: 'nftables',
    driver: (devices) => {
      counters.enter(devices);
      return counters;
    },
    discard: () => counters.discard(),
  };
}
