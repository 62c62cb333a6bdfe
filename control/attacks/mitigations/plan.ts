import type { MitigationAction } from '@portcullis/core/attacks/actions.ts';
import type { ResolvedScope } from '@portcullis/core/attacks/scope-settings.ts';
import { MAX_ACTIONS, planMitigations } from '@portcullis/core/attacks/respond.ts';
import type { AttackFacts } from './facts.ts';

export type EndedBecause = 'over' | 'expired' | 'cancelled' | 'settings';

/** A mitigation that stands. */
export interface StandingMitigation {
  readonly id: number;
  readonly action: MitigationAction;
  readonly mode: 'enforce' | 'observe';
  readonly safelist: readonly string[];
}

export interface ResponseState {
  readonly subject: string;
  readonly facts: AttackFacts;
  readonly ended: boolean;
  readonly expired: boolean;
  readonly cancelled: boolean;
  /** What holds there; null: nobody holds it any more. */
  readonly scope: Pick<ResolvedScope, 'pps' | 'mitigation' | 'safelist'> | null;
  readonly standing: readonly StandingMitigation[];
}

export interface PlannedResponse {
  readonly end: readonly { readonly id: number; readonly because: EndedBecause }[];
  readonly begin: readonly Omit<StandingMitigation, 'id'>[];
  /** Nothing is to be done any more. */
  readonly closed: boolean;
  /** Why nobody beside the edges is to be called; null: they are. */
  readonly uncalled: EndedBecause | null;
}

/**
 * What has to change so that what stands is what is wanted. While an attack goes on, more is done as more is known
 * of it, and nothing is taken back: what it stops now and then would let it in.
 */
export function planResponse(state: ResponseState): PlannedResponse {
  const { standing, scope } = state;
  const because = endOf(state);
  if (because !== null || scope === null) {
    const why = because ?? 'settings';
    const lasting = why === 'settings' && scope !== null;
    return {
      end: standing.map(({ id }) => ({ id, because: why })),
      begin: [],
      closed: !lasting,
      uncalled: why,
    };
  }
  const mode = scope.mitigation === 'on' ? 'enforce' : 'observe';
  const isWanted = (one: StandingMitigation): boolean =>
    one.mode === mode && one.safelist.join() === scope.safelist.join();
  const wanted = new Map(standing.map((one) => [keyOf(one.action), one.action]));
  const planned = planMitigations({ ...state.facts, subject: state.subject }, state.facts.tops, {
    thresholds: { pps: scope.pps },
  });
  for (const action of planned) {
    if (wanted.size < MAX_ACTIONS) wanted.set(keyOf(action), action);
  }
  const kept = new Set(standing.filter(isWanted).map(({ action }) => keyOf(action)));
  return {
    end: standing
      .filter((one) => !isWanted(one))
      .map(({ id }) => ({ id, because: 'settings' as const })),
    begin: [...wanted]
      .filter(([key]) => !kept.has(key))
      .map(([, action]) => ({ action, mode, safelist: scope.safelist })),
    closed: false,
    uncalled: mode === 'enforce' ? null : 'settings',
  };
}

function endOf({ ended, expired, cancelled, scope }: ResponseState): EndedBecause | null {
  if (cancelled) return 'cancelled';
  if (ended) return 'over';
  if (expired) return 'expired';
  return scope?.mitigation === 'off' ? 'settings' : null;
}

/** Whichever order the database keeps fields in. */
function keyOf(action: MitigationAction): string {
  return JSON.stringify(action, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
