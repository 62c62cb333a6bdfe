import {
  availableFilters,
  type FilterType,
  findFilter,
} from '@portcullis/core/filters/catalogue.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import type { Tx } from '../../db/database.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { requireFilterCount } from './limits.ts';
import * as messages from './messages.ts';
import { filterKey } from '../objects.ts';
import { type Outcome, readPorts } from './rules.ts';
import {
  eventOf,
  leaveWriteScope,
  markConfigured,
  openWriteScope,
  type ServiceDeps,
} from './address-write.ts';
import { landChange } from './land.ts';
import { loadManagedFilters, type OwnManagedFilter } from '../store.ts';

/** The body of a filter creation, checked for types alone. */
export interface FilterRequest {
  readonly type: string;
  readonly port: string;
}
export interface FiltersCreated extends Outcome {
  readonly type: string;
  readonly created: number;
}
export interface FiltersDeleted extends Outcome {
  readonly deleted: number;
}

/** Creates one filter per port, all or none. */
export async function createFilters(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  request: FilterRequest,
): Promise<FiltersCreated> {
  const scope = await openWriteScope(deps, tx, call);
  const type = requireAvailable(request.type, await loadManagedFilters(tx, scope.state.holdingId));
  const ports = readFilterPorts(call, request.port);
  const { filters, enforcement } = scope.state;
  const there = new Set(filters.map(filterKey));
  const equal = ports.filter((port) => there.has(filterKey({ type, port })));
  if (equal.length > 0) throw new Problem('filter_exists', messages.filterExists(equal));
  requireFilterCount(call, filters.length, ports.length);
  await markConfigured(tx, call, scope, true);
  const { generation } = await landChange(tx, call, scope.address.id, {
    cause: 'filter.create',
    detail: { type, ports },
    createFilters: ports.map((port) => ({ type, port })),
  });
  call.afterCommit(() =>
    deps.events.filtersCreated({ ...eventOf(call, generation), created: ports.length }),
  );
  const message = messages.filtersAccepted(ports.length, { enforcement });
  return { type, created: ports.length, generation, enforcement, message };
}

/** Deletes own filters by key. Keys not on this address are skipped; one of a group refuses the whole request. */
export async function deleteFiltersByKey(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  wanted: readonly string[],
): Promise<FiltersDeleted> {
  const scope = await openWriteScope(deps, tx, call);
  const { rules, filters, enforcement } = scope.state;
  const named = new Set(wanted);
  const found = filters.filter((filter) => named.has(filterKey(filter)));
  for (const filter of found) {
    if (filter.group !== null) {
      throw new Problem(
        'managed_by_group',
        messages.ownedByGroup(filter.group, 'filter', filterKey(filter)),
      );
    }
  }
  const deleted = found.length;
  const message = messages.filtersDeleted(deleted, named.size, { enforcement });
  if (deleted === 0)
    return { deleted, generation: await leaveWriteScope(tx, scope), enforcement, message };
  const left = [...rules, ...filters].filter((object) => object.group === null).length - deleted;
  await markConfigured(tx, call, scope, left > 0);
  const { generation } = await landChange(tx, call, scope.address.id, {
    cause: 'filter.delete',
    detail: { keys: found.map(filterKey), requested: named.size },
    deleteFilters: found.map((filter) => filter.id),
  });
  call.afterCommit(() => deps.events.filtersDeleted({ ...eventOf(call, generation), deleted }));
  return { deleted, generation, enforcement, message };
}

/** Throws the same 422 for an unknown type and for one that the service manages. */
export function requireAvailable(type: string, managed: readonly OwnManagedFilter[]): FilterType {
  const found = availableFilters(managedTypes(managed)).find((filter) => filter.type === type);
  if (found !== undefined) return found.type;
  throw new Problem('filter_unavailable', messages.filterUnavailable(managed));
}

/** Leaves out types that only a later version knows. */
export function managedTypes(managed: readonly OwnManagedFilter[]): FilterType[] {
  return managed.flatMap(({ type }) => findFilter(type)?.type ?? []);
}

export function readFilterPorts(call: Call, text: string, pointer = '/port'): number[] {
  const parsed = parsePortExpression(text);
  if (parsed.ok) return readPorts(call, parsed.value);
  throw new Problem('invalid_request', `The port expression is not valid: ${parsed.reason}.`, {
    errors: [{ pointer, detail: parsed.reason }],
  });
}
