import type { Family } from '@portcullis/core/net/address.ts';
import type { CompiledTarget } from '../policy/compiled.ts';
import type { AddChain } from '../chain.ts';
import { type Interval, intervalsOf } from '../policy/intervals.ts';
import { PORT_DISPATCHES, type PortDispatch, prefixMap } from '../names.ts';

/** Which port of a packet a dispatch asks for. */
const PORT_OF: Readonly<Record<PortDispatch, string>> = {
  learn: 'udp sport',
  untrack: 'tcp dport',
  synproxy: 'tcp dport',
  connect: 'tcp dport',
};

/** Where an interval of a dispatch leads: one look-up by the port. */
export function prefixPortChain(
  dispatch: PortDispatch,
  chains: ReadonlyMap<number, string>,
  add: AddChain,
): string {
  const entries = [...chains].map(([port, chain]) => `${port} : goto ${chain}`);
  return add(`${dispatch}_prefix`, [`${PORT_OF[dispatch]} vmap { ${entries.join(', ')} }`]);
}

/**
 * The interval maps of the dispatches, all of them, empty where unused. An address or prefix with a policy of its own
 * that lacks what the prefix around it has is a hole in it; one that has it is found first by its own element.
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
