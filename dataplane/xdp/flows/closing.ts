import type { EarlyTarget } from '../compile/early-target.ts';

/**
 * Whether a change may drop packets of a flow that nobody had to remember before: answers from ports and addresses
 * that are open to everybody are not marked (early-drop.bpf.c), so flows must be learnt before such a one is closed.
 */
export function closes(before: EarlyTarget | undefined, after: EarlyTarget | undefined): boolean {
  // Without an element of its own a prefix around it judges.
  if (after === undefined) return before !== undefined;
  if (before === undefined) return true;
  if (before.strucks.length === 0 && after.strucks.length > 0) return true;
  if (before.rules.fallback === null && after.rules.fallback !== null) return true;
  const open = openPorts(after);
  return [...openPorts(before)].some((port) => !open.has(port));
}

/** Of protocol and port: what an allow opens whatever the source. */
function openPorts({ rules }: EarlyTarget): Set<string> {
  if (rules.kind === 'spilled') return new Set();
  return new Set(
    rules.rules
      .filter(({ verdict, port, source }) => verdict === 'pass' && port !== null && source === null)
      .map(({ protocol, port }) => `${protocol} ${port}`),
  );
}
