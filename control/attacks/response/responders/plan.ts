import { containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { ResponderSpec } from '../../../db/schema.ts';

/** Why nothing is done against an attack any more. */
export type EndedBecause = 'over' | 'expired' | 'cancelled' | 'settings';

export interface NamedResponder {
  readonly name: string;
  readonly spec: ResponderSpec;
}

/** A responder call of an attack. */
export interface ResponderRun {
  readonly id: number;
  readonly responder: string;
  readonly expired: boolean;
  /** Null while in force. */
  readonly withdrawnBecause: EndedBecause | null;
}

export interface ResponderState {
  readonly subject: string;
  readonly peakPps: number;
  readonly peakBps: number;
  /** Why the attack is not mitigated. Null if it is. */
  readonly because: EndedBecause | null;
  readonly responders: readonly NamedResponder[];
  readonly runs: readonly ResponderRun[];
}

export interface PlannedRuns {
  readonly begin: readonly NamedResponder[];
  readonly withdraw: readonly { readonly id: number; readonly because: EndedBecause }[];
}

/** The most starts per attack, so that a flapping attack does not make a router flap. */
const MAX_RUNS_EACH = 5;

/** Plans the responder calls. An expired responder is not called again for the same attack. */
export function planRuns(state: ResponderState): PlannedRuns {
  const { runs, because } = state;
  const standing = runs.filter(({ withdrawnBecause }) => withdrawnBecause === null);
  const withdraw = standing.flatMap((run) => {
    const isNamed = state.responders.some(({ name }) => name === run.responder);
    const why = because ?? (run.expired ? 'expired' : isNamed ? null : 'settings');
    return why === null ? [] : [{ id: run.id, because: why }];
  });
  if (because !== null) return { begin: [], withdraw };
  const begin = state.responders.filter((responder) => {
    const own = runs.filter((run) => run.responder === responder.name);
    const isDone = own.some(
      ({ withdrawnBecause }) => withdrawnBecause === null || withdrawnBecause === 'expired',
    );
    return !isDone && own.length < MAX_RUNS_EACH && isMeant(responder.spec, state);
  });
  return { begin, withdraw };
}

function isMeant({ prefixes, pps, mbps }: ResponderSpec, state: ResponderState): boolean {
  const isLarge =
    (pps === null && mbps === null) ||
    (pps !== null && state.peakPps >= pps) ||
    (mbps !== null && state.peakBps >= mbps * 1_000_000);
  return (
    isLarge && (prefixes === null || prefixes.some((prefix) => contains(prefix, state.subject)))
  );
}

function contains(prefix: string, subject: string): boolean {
  const [outer, inner] = [parseCidr(prefix), parseCidr(subject)];
  return outer.ok && inner.ok && containsCidr(outer.value, inner.value);
}
