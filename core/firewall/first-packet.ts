import type { PacketState } from './packet.ts';

/** What is known of the first packet of a stranger, unfragmented, with every rate unused. */
export const FIRST_PACKET: PacketState = {
  returnTraffic: false,
  icmpWithinRate: true,
  fragmentsWithinLimit: true,
  answered: false,
  aboveLimit: [],
  filters: {},
};
