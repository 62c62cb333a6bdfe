import { availableFilters, FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Tx } from '../db/database.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import { notHeld } from '../http/operations/not-found.ts';
import {
  addNotedRules,
  createFilters,
  createRules,
  deleteFiltersByKey,
  deleteRulesById,
  setFilterSettings,
} from './writes/create-delete.ts';
import { managedTypes } from './writes/request.ts';
import type { ServiceDeps } from './writes/own-objects.ts';
import { loadAddress, loadManagedFilters } from './store.ts';
import {
  addressView,
  catalogueView,
  plannedHeaders,
  readHeaders,
  writeHeaders,
  x1ReadHeaders,
} from './views.ts';
import { listHeldPrefixes } from '../access/index.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { Problem } from '../problem.ts';
import { readAccepted, replaceableState } from './accepted.ts';
import { countConfigured } from './writes/configured.ts';
import { previewDefault, previewView } from './defaults/preview.ts';
import { dropsView, readDrops } from './drops/read.ts';
import { type ExplainDeps, explainPacket } from './explain/explain.ts';
import { portOf } from './named-ports/index.ts';
import { planReplacement, replaceAddress, replacementOf } from './writes/replacement.ts';
import { loadFleetState, loadHeldAddresses } from './held-store.ts';
import { dryRun, dryRunView } from './samples/dry-run.ts';
import { readTraffic, trafficView } from './samples/traffic.ts';
import { setOwnDefault } from './defaults/service.ts';
import { acceptedView, explanationView, filterEntry, heldView, writtenView } from './x1-views.ts';

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
      const state = await loadAddress(db, 'live', call.by, call.params.ip);
      if (state === null) throw notHeld();
      return { status: 200, body: addressView(call, state), headers: readHeaders(state) };
    },
    async listAvailableFilters(call, db) {
      const state = await loadAddress(db, 'live', call.by, call.params.ip);
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

/** Operations beyond the interface, under /api/x1. */
export type FirewallX1Handlers = Pick<
  Handlers,
  | 'listHeldAddresses'
  | 'readAcceptedAddress'
  | 'replaceAddress'
  | 'addRules'
  | 'setFilterSettings'
  | 'setDefault'
  | 'previewDefault'
  | 'explainPacket'
  | 'readDrops'
  | 'listFilters'
  | 'readTraffic'
  | 'dryRun'
>;

interface X1Deps extends ServiceDeps, ExplainDeps {
  readonly publicUrl: string;
}

const PER_PAGE = 1000;

export function createX1Handlers(deps: X1Deps): FirewallX1Handlers {
  const filters = FILTERS.map((filter) => filterEntry(filter, deps.publicUrl));
  return {
    async listFilters() {
      return { status: 200, body: { data: filters } };
    },
    async listHeldAddresses(call, db) {
      const { by: caller } = call;
      const { after, limit } = pageOf(call);
      const held = {
        prefixes: await listHeldPrefixes(db, caller),
        // One more than requested tells whether there is another page.
        addresses: await loadHeldAddresses(db, caller, { after, limit: limit + 1 }),
        configured: await countConfigured(db, caller.organisationId),
      };
      const body = heldView(call, held, { limit, publicUrl: deps.publicUrl });
      return { status: 200, body, headers: x1ReadHeaders(await loadFleetState(db, caller)) };
    },
    async readAcceptedAddress(call, db) {
      const accepted = await readAccepted(db, call);
      return {
        status: 200,
        body: acceptedView(call, accepted),
        headers: x1ReadHeaders(accepted.state),
        state: replaceableState(accepted.state),
      };
    },
    replaceAddress: (call, tx) => replaceOrPlan(deps, call, tx),
    async addRules(call, tx) {
      const rules = call.body.rules.map((rule) => ({ ...rule, ...portOf(rule) }));
      const added = await addNotedRules(deps, tx, call, rules);
      return { status: 201, body: writtenView(added), headers: writeHeaders(added) };
    },
    ...createSettingHandlers(deps),
    ...createSampleHandlers(deps),
    async explainPacket(call, db) {
      const explained = await explainPacket(deps, db, call, call.body);
      return {
        status: 200,
        body: explanationView(explained),
        headers: { 'cache-control': 'no-store' },
      };
    },
  };
}

async function replaceOrPlan(deps: X1Deps, call: CallOf<'replaceAddress'>, tx: Tx) {
  const request = replacementOf(call.body);
  if (call.query.dry_run === true) {
    const planned = await planReplacement(deps, tx, call, request);
    return { status: 200, body: writtenView(planned), headers: plannedHeaders(planned) };
  }
  const replaced = await replaceAddress(deps, tx, call, request);
  return { status: 200, body: writtenView(replaced), headers: writeHeaders(replaced) };
}

function createSampleHandlers(
  deps: X1Deps,
): Pick<FirewallX1Handlers, 'readDrops' | 'readTraffic' | 'dryRun'> {
  return {
    async readDrops(call, db) {
      const read = await readDrops(db, call);
      return {
        status: 200,
        body: dropsView(call.params.ip, read),
        headers: x1ReadHeaders(read.state),
      };
    },
    async readTraffic(call, db) {
      const traffic = await readTraffic(db, call);
      return {
        status: 200,
        body: trafficView(call.params.ip, traffic),
        headers: x1ReadHeaders(traffic.state),
      };
    },
    async dryRun(call, db) {
      const run = await dryRun(deps, db, call);
      return {
        status: 200,
        body: dryRunView(call.params.ip, run),
        headers: { 'cache-control': 'no-store' },
      };
    },
  };
}

function createSettingHandlers(
  deps: X1Deps,
): Pick<FirewallX1Handlers, 'setFilterSettings' | 'setDefault' | 'previewDefault'> {
  return {
    async setFilterSettings(call, tx) {
      const done = await setFilterSettings(deps, tx, call, call.body);
      return { status: 200, body: writtenView(done), headers: writeHeaders(done) };
    },
    async setDefault(call, tx) {
      const { message, generation, target } = await setOwnDefault(tx, call, call.body);
      const headers = { 'portcullis-generation': String(generation), 'cache-control': 'no-store' };
      return {
        status: 200,
        body: { data: { target, default: call.body.default }, message },
        headers,
      };
    },
    async previewDefault(call, db) {
      const preview = await previewDefault(deps, db, call);
      return {
        status: 200,
        body: previewView(call.params.ip, preview),
        headers: x1ReadHeaders(preview.state),
      };
    },
  };
}

function pageOf(call: CallOf<'listHeldAddresses'>): { after: string | null; limit: number } {
  const limit = call.query.per_page ?? PER_PAGE;
  if (call.query.after === undefined) return { after: null, limit };
  const after = canonicalAddress(call.query.after);
  if (after !== null) return { after, limit };
  const detail = 'must be the last address of the page before';
  throw new Problem('invalid_request', `The parameter after ${detail}.`, {
    errors: [{ parameter: 'after', detail }],
  });
}
