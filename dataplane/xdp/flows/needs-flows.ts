import type { EarlyTarget } from '../compile/early-target.ts';

/**
 * Whether a change may drop packets of flows that were not remembered. The programs do not mark replies of open ports
 * and addresses (early-drop.bpf.c), so their flows must be learnt before such a port or address is closed.
 */
export function needsFlows(
  before: EarlyTarget | undefined,
  after: EarlyTarget | undefined,
): boolean {
  // Without an element of its own, the address is evaluated by a prefix that contains it.
  if (after === undefined) return before !== undefined;
  if (before === undefined) return true;
  if (before.statelessDrops.length === 0 && after.statelessDrops.length > 0) return true;
  if (before.rules.fallback === null && after.rules.fallback !== null) return true;
  const filtered = new Set(before.greetedPorts.map(({ port }) => port));
  if (after.greetedPorts.some(({ port }) => !filtered.has(port))) return true;
  const open = openPorts(after);
  return [...openPorts(before)].some((port) => !open.has(port));
}

/** Protocols and ports that are open to every source. */
function openPorts({ rules }: EarlyTarget): Set<string> {
  if (rules.kind === 'spilled') return new Set();
  return new Set(
    rules.rules
      .filter(({ verdict, port, source }) => verdict === 'pass' && port !== null && source === null)
      .map(({ protocol, port }) => `${protocol} ${port}`),
  );
}
