import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';

/** Settings without the addresses of any edge, whose stages do not apply here. */
export const ANY_EDGE: EdgeSettings = {
  localAddresses: [],
  management: [],
  sees: 'both',
  fragments: 'reassemble',
};
