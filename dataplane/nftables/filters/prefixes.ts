import type { Family } from '@portcullis/core/net/address.ts';
import type { CompiledTarget } from '../policy/compiled.ts';
import type { AddChain } from '../chain.ts';
import { type Interval, intervalsOf } from '../policy/intervals.ts';
import { PORT_DISPATCHES, type PortDispatch, prefixMap } from '../names.ts';

/** The port field that a dispatch looks up. */
const PORT_OF: Readonly<Record<PortDispatch, string>> = {
  learn: 'udp sport',
  untrack: 'tcp dport',
  synproxy: 'tcp dport',
  connect: 'tcp dport',
};

/** The chain of an interval: one lookup by port. */
export function prefixPortChain(
  dispatch: PortDispatch,
  chains: ReadonlyMap<number, string>,
  add: AddChain,
): string {
  const entries = [...chains].map(([port, chain]) => `${port} : goto ${chain}`);
  return add(`${dispatch}_prefix`, [`${PORT_OF[dispatch]} vmap { ${entries.join(', ')} }`]);
}

/**
 * The interval maps of all dispatches, empty if unused. An address or prefix with its own policy excludes itself from
 * the containing prefix. If it has the dispatch too, its own element is found first.
 */
export function filterIntervals(
  targets: ReadonlyMap<string, CompiledTarget>,
  prefixes: readonly CompiledTarget[],
): [string, Interval[]][] {
  return PORT_DISPATCHES.flatMap((dispatch) => {
    const used = prefixes.some(({ filters }) => filters.prefixChains.has(dispatch));
    const all = used ? [...targets.values()] : [];
    return ([4, 6] as const).map((family): [string, Interval[]] => [
      prefixMap(dispatch, family),
      intervalsFor(dispatch, all, family),
    ]);
  });
}

function intervalsFor(
  dispatch: PortDispatch,
  targets: readonly CompiledTarget[],
  family: Family,
): Interval[] {
  return intervalsOf(targets, family, (target, around) => {
    const { filters, prefixChain } = target;
    if (prefixChain !== null) return filters.prefixChains.get(dispatch) ?? null;
    const needed = around?.filters.ports.get(dispatch) ?? new Set<number>();
    const has = filters.ports.get(dispatch) ?? new Set<number>();
    return [...needed].every((port) => has.has(port)) ? undefined : null;
  });
}
