import type { PacketState } from '../packet.ts';

/** The state for a first packet of an unknown source, unfragmented, with no rate used. */
export const FIRST_PACKET: PacketState = {
  returnTraffic: false,
  icmpWithinRate: true,
  fragmentsWithinLimit: true,
  answered: false,
  aboveLimit: [],
  filtered: null,
};
