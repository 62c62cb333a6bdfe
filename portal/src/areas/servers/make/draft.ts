import type { NewServer, OfferedEggs, ServerQuota } from '@portcullis/client/index.ts';
import { leftOf, type ServerAmounts } from '@portcullis/core/game-servers/quota.ts';
import { givenVariables } from '../form/draft.ts';

export type Quota = ServerQuota['data'];
export type Offered = OfferedEggs['data'][number];
export type SizeName = 'memory' | 'cpu' | 'disk';
export const SIZE_NAMES = ['memory', 'cpu', 'disk'] as const;

/** The steps of the sliders, and what a new server has if the quota has as much. */
export const SIZES = {
  memory: { step: 256, usual: 2_048 },
  cpu: { step: 25, usual: 100 },
  disk: { step: 512, usual: 5_120 },
} as const satisfies Record<SizeName, { readonly step: number; readonly usual: number }>;

/** The fields of the form. */
export interface Draft {
  readonly name: string;
  /** '': none is chosen. */
  readonly egg: string;
  readonly image: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<SizeName, number>>;
  /** Null: any where it fits. */
  readonly node: string | null;
  /** The id of a service; null: the first. */
  readonly service: string | null;
}

/** The rest of a quota. */
export function restOf({ limits, used }: Quota): ServerAmounts {
  return leftOf(limits, used);
}

export type QuotaState = 'none' | 'full' | 'open';

export function stateOf(quota: Quota): QuotaState {
  if (quota.limits.servers === 0) return 'none';
  return Object.values(restOf(quota)).some((left) => left === 0) ? 'full' : 'open';
}

export function initialDraft(quota: Quota, egg: string): Draft {
  const left = restOf(quota);
  const size = (name: SizeName): number => Math.min(SIZES[name].usual, left[name]);
  return {
    name: '',
    egg,
    image: null,
    variables: {},
    limits: { memory: size('memory'), cpu: size('cpu'), disk: size('disk') },
    node: null,
    service: null,
  };
}

/** The body of `makeGameServer`. */
export function bodyOf(draft: Draft, { variables }: Pick<Offered, 'variables'>): NewServer {
  const { name, egg, image, limits, node, service } = draft;
  return {
    name: name.trim(),
    egg,
    image,
    variables: givenVariables(variables, draft.variables),
    limits,
    node,
    ...(service !== null && { service: Number(service) }),
  };
}
