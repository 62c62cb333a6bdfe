import type { EdgeRules } from './base-chain.ts';
import type { Chain } from './compile.ts';
import type { Interval } from './intervals.ts';
import { dispatchMap, IP, type PortDispatch, prefixMap } from './names.ts';

/** After source NAT (100), so that the server's address is the one that clients send to. */
const AFTER_SOURCE_NAT = 110;

/** Base chains that only exist where something has use for them: every packet of the host would pay. */
export function filterHooks(
  _rules: EdgeRules,
  counts: ReadonlyMap<string, number>,
  prefixes: ReadonlyMap<string, readonly Interval[]>,
): [string, Chain][] {
  const used = (dispatch: PortDispatch): boolean =>
    ([4, 6] as const).some(
      (family) =>
        (counts.get(dispatchMap(dispatch, family)) ?? 0) > 0 ||
        (prefixes.get(prefixMap(dispatch, family)) ?? []).length > 0,
    );
  return used('learn') ? [['learn', LEARN]] : [];
}

const LEARN: Chain = {
  hook: `type filter hook postrouting priority ${AFTER_SOURCE_NAT}; policy accept;`,
  statements: lookups('meta l4proto udp', 'saddr', 'udp sport', 'learn'),
  sets: [],
  maps: [],
};

function lookups(
  matches: string,
  address: 'saddr' | 'daddr',
  port: string,
  dispatch: PortDispatch,
): string[] {
  return ([4, 6] as const).flatMap((family) => [
    `${matches} ${IP[family]} ${address} . ${port} vmap @${dispatchMap(dispatch, family)}`,
    `${matches} ${IP[family]} ${address} vmap @${prefixMap(dispatch, family)}`,
  ]);
}
