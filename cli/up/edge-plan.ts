import type { UpOptions } from '../program/up.ts';

/** What the edge of this `up` does, and why not more. */
export interface EdgePlan {
  /** Null: the fleet names no edge, so none is started. */
  readonly name: string | null;
  readonly enforce: boolean;
  /** Why it only observes, in words; null when it enforces. */
  readonly reason: string | null;
  readonly confirmWithin: string | null;
}

export function planEdge(options: UpOptions, name: string | null): EdgePlan {
  const confirmWithin = options.confirmWithin ?? null;
  const enforce = options.enforce === true && name !== null;
  if (enforce) return { name, enforce, reason: null, confirmWithin };
  const reason = name === null ? 'the fleet names no edge' : '--enforce was not given';
  return { name, enforce: false, reason, confirmWithin: null };
}

/** The rest of what `portcullis edge` is told, in its environment. */
export function edgeEnvironment(
  plan: EdgePlan,
  of: { readonly data: string; readonly link: string; readonly url: string },
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PORTCULLIS_EDGE_DATA: of.data,
    PORTCULLIS_LINK_SOCKET: of.link,
    PORTCULLIS_EDGE_MODE: plan.enforce ? 'enforce' : 'observe',
    // The control plane's own listener stays reachable on this host, whatever its holders deny.
    PORTCULLIS_EDGE_MANAGEMENT: `tcp:${portOf(of.url)}`,
    ...(plan.confirmWithin === null ? {} : { PORTCULLIS_EDGE_CONFIRM_WITHIN: plan.confirmWithin }),
  };
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}
