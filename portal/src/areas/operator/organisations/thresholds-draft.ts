import type { DeclaredOrganisation, OrganisationPatch } from '@portcullis/client/index.ts';
import { containsCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Organisation } from '../queries.ts';

/** The settings that an organisation, a service and a holding have. */
type ThresholdsSet = Pick<DeclaredOrganisation, 'mitigation' | 'safelist'> &
  DeclaredOrganisation['thresholds'];

export function setOf({
  thresholds,
  mitigation,
  safelist,
}: Pick<DeclaredOrganisation, 'thresholds' | 'mitigation' | 'safelist'>): ThresholdsSet {
  return { ...thresholds, mitigation, safelist };
}

/** A scope that thresholds are set for. */
export interface ThresholdScope {
  /** `organisation`, `service 501`, `holding 7`. */
  readonly key: string;
  readonly scope: 'organisation' | 'service' | 'holding';
  readonly id: number | null;
  /** The prefix of a holding or the name of a service; null: the organisation itself. */
  readonly name: string | null;
  readonly owner: string;
  readonly set: ThresholdsSet;
  /** The keys of what it is in, innermost first; what none of them sets is as of the fleet. */
  readonly within: readonly string[];
}

/** From the outermost to the innermost: each stands for what is within it and sets nothing itself. */
export function scopesOf(organisation: Organisation): ThresholdScope[] {
  const { owner, services, holdings } = organisation;
  return [
    {
      key: 'organisation',
      scope: 'organisation',
      id: null,
      name: null,
      owner,
      set: setOf(organisation),
      within: [],
    },
    ...services.map(
      (each): ThresholdScope => ({
        key: `service ${each.id}`,
        scope: 'service',
        id: each.id,
        name: `#${each.id} ${each.name}`,
        owner: each.owner,
        set: setOf(each),
        within: ['organisation'],
      }),
    ),
    ...holdings.map(
      (each): ThresholdScope => ({
        key: `holding ${each.id}`,
        scope: 'holding',
        id: each.id,
        name: each.prefix,
        owner: each.owner,
        set: setOf(each),
        within: [
          ...(each.service === null ? [] : [`service ${each.service}`]),
          ...prefixesAround(each, holdings),
          'organisation',
        ],
      }),
    ),
  ];
}

type Holding = Organisation['holdings'][number];

/** The keys of the prefixes that contain a holding, the longest first. */
function prefixesAround(holding: Holding, all: readonly Holding[]): string[] {
  const inner = parseCidr(holding.prefix);
  return all
    .flatMap(({ id, prefix }) => {
      const outer = parseCidr(prefix);
      const isAround = id !== holding.id && inner.ok && outer.ok;
      return isAround && containsCidr(outer.value, inner.value)
        ? [{ id, length: outer.value.length }]
        : [];
    })
    .toSorted((a, b) => b.length - a.length)
    .map(({ id }) => `holding ${id}`);
}

/**
 * A value that a scope has that does not set it itself, and the name of where that is set; null: nowhere in the
 * organisation.
 */
export function inheritedOf<Field extends keyof ThresholdScope['set']>(
  scope: ThresholdScope,
  field: Field,
  all: readonly ThresholdScope[],
): {
  readonly value: NonNullable<ThresholdScope['set'][Field]>;
  readonly from: string | null;
} | null {
  for (const key of scope.within) {
    const outer = all.find((each) => each.key === key);
    const value = outer?.set[field];
    if (outer !== undefined && value !== null && value !== undefined)
      return { value, from: outer.name };
  }
  return null;
}

export function isSet({ set }: ThresholdScope): boolean {
  const { pps, mbps, hold_seconds: hold, mitigation, safelist } = set;
  return [pps, mbps, hold, mitigation].some((each) => each !== null) || safelist.length > 0;
}

/** The form as it is typed; empty: as of what is around it. */
export interface ThresholdsDraft {
  readonly pps: number | '';
  readonly mbps: number | '';
  readonly holdSeconds: number | '';
  readonly mitigation: 'inherit' | 'off' | 'observe' | 'on';
  readonly safelist: string;
}

export function draftOf({ set }: ThresholdScope): ThresholdsDraft {
  const known = (['off', 'observe', 'on'] as const).find((each) => each === set.mitigation);
  return {
    pps: set.pps ?? '',
    mbps: set.mbps ?? '',
    holdSeconds: set.hold_seconds ?? '',
    mitigation: known ?? 'inherit',
    safelist: set.safelist.join('\n'),
  };
}

/** The merge patch of the draft. */
export function bodyOf(
  draft: ThresholdsDraft,
): Pick<OrganisationPatch, 'thresholds' | 'mitigation' | 'safelist'> {
  const { pps, mbps, holdSeconds, mitigation, safelist } = draft;
  return {
    thresholds: {
      pps: pps === '' ? null : pps,
      mbps: mbps === '' ? null : mbps,
      hold_seconds: holdSeconds === '' ? null : holdSeconds,
    },
    mitigation: mitigation === 'inherit' ? null : mitigation,
    safelist: safelist.split(/[\s,]+/).filter((each) => each !== ''),
  };
}
