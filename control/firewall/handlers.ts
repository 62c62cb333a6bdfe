import { availableFilters } from '@portcullis/core/filters/catalogue.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { notHeld } from '../http/operations/not-found.ts';
import { createFilters, deleteFiltersByKey } from './writes/filters.ts';
import { managedTypes } from './writes/request.ts';
import { createRules, deleteRulesById } from './writes/rules.ts';
import type { ServiceDeps } from './writes/address-write.ts';
import { loadAddress, loadManagedFilters } from './store.ts';
import { addressView, catalogueView, readHeaders, writeHeaders } from './views.ts';

/** Operations 1 to 6 of the interface. */
export type FirewallHandlers = Pick<
  Handlers,
  | 'readFirewallAddress'
  | 'listAvailableFilters'
  | 'createRules'
  | 'deleteRules'
  | 'applyFilters'
  | 'deleteFilters'
>;

export function createHandlers(deps: ServiceDeps): FirewallHandlers {
  return {
    async readFirewallAddress(call, db) {
      const state = await loadAddress(db, 'live', call.caller, call.ip);
      if (state === null) throw notHeld();
      return { status: 200, body: addressView(call, state), headers: readHeaders(state) };
    },
    async listAvailableFilters(call, db) {
      const state = await loadAddress(db, 'live', call.caller, call.ip);
      if (state === null) throw notHeld();
      const managed = managedTypes(await loadManagedFilters(db, state.holdingId));
      return {
        status: 200,
        body: catalogueView(availableFilters(managed)),
        headers: readHeaders(state),
      };
    },
    async createRules(call, tx) {
      const made = await createRules(deps, tx, call, call.body);
      const ids = made.created.rules;
      const data = { ids, created: ids.length, requested: ids.length };
      return { status: 201, body: { data, message: made.message }, headers: writeHeaders(made) };
    },
    async deleteRules(call, tx) {
      const done = await deleteRulesById(deps, tx, call, call.body.ids);
      const ids = done.deleted.rules;
      const data = { deleted: ids.length, ids };
      return { status: 200, body: { data, message: done.message }, headers: writeHeaders(done) };
    },
    async applyFilters(call, tx) {
      const made = await createFilters(deps, tx, call, call.body);
      const data = { type: call.body.type, created: made.created.filters.length };
      return { status: 201, body: { data, message: made.message }, headers: writeHeaders(made) };
    },
    async deleteFilters(call, tx) {
      const done = await deleteFiltersByKey(deps, tx, call, call.body.keys);
      const data = { deleted: done.deleted.filters.length };
      return { status: 200, body: { data, message: done.message }, headers: writeHeaders(done) };
    },
  };
}
