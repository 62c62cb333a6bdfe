import { keyOf, type MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { ResolvedScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import {
  isAgainst,
  replanMitigations,
  typesOf,
} from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';
import type { EndedBecause } from '../responders/plan.ts';
import type { AttackFacts } from './facts.ts';

/** A mitigation in force. */
export interface ActiveMitigation {
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
  /** The settings of the subject. Null if it is no longer held. */
  readonly scope: Pick<ResolvedScope, 'pps' | 'mitigation' | 'safelist'> | null;
  readonly active: readonly ActiveMitigation[];
}

export interface PlannedResponse {
  readonly end: readonly { readonly id: number; readonly because: EndedBecause }[];
  readonly begin: readonly Omit<ActiveMitigation, 'id'>[];
  /** The attack must not be mitigated. */
  readonly closed: boolean;
  /** Why no responder is called. Null if they are. */
  readonly uncalled: EndedBecause | null;
}

/** Plans the changes from the mitigations in force to the wanted ones; those that are not wanted end in the same generation. */
export function planResponse(state: ResponseState): PlannedResponse {
  const { active, scope } = state;
  const because = endOf(state);
  if (because !== null || scope === null) {
    const why = because ?? 'settings';
    const lasting = why === 'settings' && scope !== null;
    return {
      end: active.map(({ id }) => ({ id, because: why })),
      begin: [],
      closed: !lasting,
      uncalled: why,
    };
  }
  const isEnforced = scope.mitigation === 'on' && state.facts.isClaimed !== true;
  const mode = isEnforced ? 'enforce' : 'observe';
  const isWanted = (one: ActiveMitigation): boolean =>
    one.mode === mode && one.safelist.join() === scope.safelist.join();
  const types = typesOf(state.facts);
  const stays = active.filter(({ action }) => isAgainst(action, types));
  const planned = replanMitigations(
    active.map(({ action }) => action),
    { ...state.facts, subject: state.subject },
    state.facts.tops,
    { thresholds: { pps: scope.pps } },
  );
  const wanted = new Map(planned.map((action) => [keyOf(action), action]));
  const kept = new Set(active.filter(isWanted).map(({ action }) => keyOf(action)));
  return {
    end: active
      .filter((one) => !isWanted(one) || !stays.includes(one))
      .map((one) => ({ id: one.id, because: isWanted(one) ? 'over' : 'settings' })),
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
