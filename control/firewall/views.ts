import type { Filter as CatalogueFilter } from '@portcullis/core/filters/filter.ts';
import { filterKey } from '@portcullis/core/firewall/rules/content.ts';
import type { Marks } from '@portcullis/core/firewall/rules/marks.ts';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { AddressCall } from '../http/operations/operation.ts';
import { timeView, viewOf } from '../http/operations/view.ts';
import {
  type AddressState,
  enforcedGeneration,
  type GroupRef,
  type StoredFilter,
  type StoredRule,
} from './objects.ts';
import { LISTED_CONFLICTS } from './groups/conflicts.ts';
import type { GroupView, SavedGroup } from './groups/index.ts';

/** Converts domain values to the interface; only the views of this area write snake_case. */

export function ruleView(ip: string, rule: StoredRule) {
  return {
    id: rule.id,
    action: rule.action,
    protocol: rule.protocol,
    source_ip: rule.source,
    destination_ip: ip,
    destination_port: rule.port,
    managed_by_group: ownerView(rule.group),
  };
}

export function filterView(filter: StoredFilter) {
  return {
    key: filterKey(filter),
    type: filter.type,
    // A filter of a later version has no name here.
    name: findFilter(filter.type)?.name ?? filter.type,
    port: filter.port,
    managed_by_group: ownerView(filter.group),
  };
}

export function ownerView(group: GroupRef | null) {
  return group === null ? null : { id: group.id, name: group.name };
}

export function addressView(call: AddressCall, state: Pick<AddressState, 'rules' | 'filters'>) {
  return {
    data: {
      ip: call.params.ip,
      rules: state.rules.map((rule) => ruleView(call.params.ip, rule)),
      filters: state.filters.map(filterView),
    },
    meta: addressMeta(call, state),
  };
}

export function addressMeta(call: AddressCall, state: Pick<AddressState, 'rules' | 'filters'>) {
  const { rulesPerIp, filtersPerIp, maxPortsPerRequest } = call.by.organisation.limits;
  return {
    rules_count: state.rules.length,
    filters_count: state.filters.length,
    limits: viewOf({ rulesPerIp, filtersPerIp, maxPortsPerRequest }),
  };
}

export function catalogueView(filters: readonly CatalogueFilter[]) {
  return { data: filters.map(({ type, name, category }) => ({ type, name, category })) };
}

type Progress = Pick<AddressState, 'liveGeneration' | 'acceptedGeneration' | 'enforcement'>;

/** Headers of a read: the live and accepted generations, and the enforcement. */
export function readHeaders(state: Progress): Record<string, string> {
  return {
    'portcullis-generation': String(state.liveGeneration),
    'portcullis-accepted-generation': String(state.acceptedGeneration),
    'portcullis-enforcement': state.enforcement,
    'cache-control': 'private, no-cache',
  };
}

/** Headers of a read beyond `/api/v1`: without a live generation while no edge enforces. */
export function x1ReadHeaders(state: Progress): Record<string, string> {
  const { 'portcullis-generation': live, ...headers } = readHeaders(state);
  return enforcedGeneration(state) === null || live === undefined
    ? headers
    : { 'portcullis-generation': live, ...headers };
}

/** Headers of a write: its own generation. */
export function writeHeaders(outcome: {
  readonly generation: number;
  readonly enforcement: string;
}): Record<string, string> {
  return {
    'portcullis-generation': String(outcome.generation),
    'portcullis-enforcement': outcome.enforcement,
    'cache-control': 'no-store',
  };
}

/** Headers of a dry run, which has no generation. */
export function plannedHeaders(planned: { readonly enforcement: string }): Record<string, string> {
  return { 'portcullis-enforcement': planned.enforcement, 'cache-control': 'no-store' };
}

export function groupView({ rules, filters, ...group }: GroupView) {
  return {
    ...group,
    rules: rules.map((rule) => ({
      id: rule.id,
      action: rule.action,
      protocol: rule.protocol,
      source_ip: rule.source,
      destination_port: rule.port,
      ...marksView(rule),
      note: rule.note,
    })),
    filters: filters.map((filter) => ({
      id: filter.id,
      type: filter.type,
      port: filter.port,
      ...marksView(filter),
      note: filter.note,
    })),
  };
}

/** The marks that every rule has; a group's have a note too. */
export function marksView({ ref, expiresAt }: Marks) {
  return { ref, expires_at: expiresAt && timeView(expiresAt) };
}

export function groupPreviewView({ changes, conflicts }: SavedGroup) {
  return {
    targets: changes.map(viewOf),
    conflicts: conflicts
      .slice(0, LISTED_CONFLICTS)
      .map(({ target, code, reason }) => ({ target, code, detail: reason })),
  };
}
