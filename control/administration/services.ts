import { DEFAULT_MANAGED_FILTERS, FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import type { Tx } from '../db/database.ts';
import type { ManagedFilter } from '../db/schema.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import { closeService, deleteService, saveServices } from '../organisations/index.ts';
import { conflict, invalidField, Problem } from '../problem.ts';
import { type Done, type Written, writeOrganisation } from './organisation-write.ts';
import { findService } from './store.ts';

const LARGEST = 2_147_483_647;

/** Services of organisations. */
export function createServiceHandlers(): Pick<Handlers, 'saveService' | 'removeService'> {
  return {
    saveService: (call, tx) => writeOrganisation(call, tx, (written) => save(call, tx, written)),
    removeService: (call, tx) =>
      writeOrganisation(call, tx, (written) => remove(pathService(call), tx, written)),
  };
}

async function save(
  call: CallOf<'saveService'>,
  tx: Tx,
  { batch, organisationId }: Written,
): Promise<Done> {
  const id = pathService(call);
  const { name, active, managed_filters: wanted } = call.body;
  const before = await findService(tx, id);
  if (before !== null && before.organisationId !== organisationId) {
    const detail = `The service ${id} is another organisation's, and numbers of services are not passed on: choose another.`;
    throw conflict(detail);
  }
  if (before !== null) batch.requireOwn(before.owner, `The service ${id}`);
  const managedFilters =
    wanted === undefined
      ? (before?.managedFilters ??
        DEFAULT_MANAGED_FILTERS.map((type): ManagedFilter => ({ type, ports: null })))
      : parseManaged(wanted);
  const refresh = before !== null && wanted !== undefined;
  const service = { id, organisationId, name, active, managedFilters, refresh };
  await saveServices(batch, [service]);
  return {
    action: before === null ? 'service.create' : 'service.change',
    target: `service:${id}`,
    detail: { name, active, managed_filters: managedFilters },
  };
}

async function remove(id: number, tx: Tx, { batch, organisationId }: Written): Promise<Done> {
  const found = await findService(tx, id);
  if (found?.organisationId !== organisationId) {
    throw new Problem('not_found', `The organisation has no service ${id}.`);
  }
  batch.requireOwn(found.owner, `The service ${id}`);
  if (found.servers > 0) {
    throw conflict(`The service ${id} has game servers: remove them first.`);
  }
  if (found.presentHoldings > 0) {
    throw conflict(`The service ${id} has addresses: end them first.`);
  }
  if (found.holdings > 0) await closeService(batch, id);
  else await deleteService(batch, id);
  return { action: 'service.remove', target: `service:${id}`, detail: {} };
}

function parseManaged(wanted: readonly ManagedFilter[]): ManagedFilter[] {
  const types = new Set<string>();
  const parsed = wanted.map(({ type, ports }, index) => {
    if (!FILTERS.some((filter) => filter.type === type)) {
      throw invalidField(`/managed_filters/${index}/type`, `There is no filter "${type}".`);
    }
    if (types.has(type))
      throw invalidField(`/managed_filters/${index}/type`, `${type} is here twice.`);
    types.add(type);
    const ranges = ports === null ? null : parsePortExpression(ports);
    if (ranges !== null && !ranges.ok) {
      throw invalidField(`/managed_filters/${index}/ports`, `${ranges.reason}.`);
    }
    return {
      type,
      ports:
        ranges?.value
          .map(({ low, high }) => (low === high ? `${low}` : `${low}-${high}`))
          .join(',') ?? null,
    };
  });
  return parsed.toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

function pathService({ params: { service: id } }: Pick<CallOf<'saveService'>, 'params'>): number {
  if (id <= LARGEST) return id;
  throw new Problem('not_found', `The number of a service is at most ${LARGEST}.`);
}
