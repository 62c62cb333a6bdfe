import type { Tx } from '../../db/database.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { filterKey } from '../objects.ts';
import { loadManagedFilters } from '../store.ts';
import { openWriteScope, type ServiceDeps } from './address-write.ts';
import * as messages from './messages.ts';
import { ownObjects, type Written, writeOwn } from './own-objects.ts';
import { type FilterRequest, readFilterPorts, requireAvailable } from './request.ts';

/** Creates one filter per port, all or none. */
export async function createFilters(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  request: FilterRequest,
): Promise<Written> {
  const scope = await openWriteScope(tx, call);
  const type = requireAvailable(request.type, await loadManagedFilters(tx, scope.state.holdingId));
  const ports = readFilterPorts(call, request.port);
  const there = new Set(scope.state.filters.map(filterKey));
  const equal = ports.filter((port) => there.has(filterKey({ type, port })));
  if (equal.length > 0) throw new Problem('filter_exists', messages.filterExists(equal));
  const { rules, filters } = ownObjects(scope);
  return writeOwn(deps, tx, call, scope, {
    cause: 'filter.create',
    detail: { type, ports },
    rules,
    filters: [...filters, ...ports.map((port) => ({ type, port }))],
    message: messages.filtersAccepted,
  });
}

/** Deletes own filters by key. Keys not on this address are skipped; one of a group refuses the whole request. */
export async function deleteFiltersByKey(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  wanted: readonly string[],
): Promise<Written> {
  const scope = await openWriteScope(tx, call);
  const named = new Set(wanted);
  const found = scope.state.filters.filter((filter) => named.has(filterKey(filter)));
  for (const filter of found) {
    if (filter.group !== null) {
      throw new Problem(
        'managed_by_group',
        messages.ownedByGroup(filter.group, 'filter', filterKey(filter)),
      );
    }
  }
  const { rules, filters } = ownObjects(scope);
  return writeOwn(deps, tx, call, scope, {
    cause: 'filter.delete',
    detail: { requested: named.size },
    rules,
    filters: filters.filter((filter) => !named.has(filterKey(filter))),
    message: (change) => messages.filtersDeleted(found.length, named.size, change),
  });
}
