import { listHeldPrefixes } from '../access/index.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { Problem } from '../problem.ts';
import { readAccepted, replaceableState } from './accepted.ts';
import { countConfigured } from './writes/configured.ts';
import { previewDefault } from './defaults/preview.ts';
import { previewView } from './defaults/preview-view.ts';
import { dropsView, readDrops } from './drops/read.ts';
import { type ExplainDeps, explainPacket } from './explain/explain.ts';
import { portOf } from './named-ports/index.ts';
import { loadFleetState, loadHeldAddresses } from './held-store.ts';
import { setOwnDefault } from './writes/default.ts';
import { type Replacement, replaceAddress } from './writes/own-objects.ts';
import type { ServiceDeps } from './writes/address-write.ts';
import { addNotedRules } from './writes/rules.ts';
import { readHeaders, writeHeaders } from './views.ts';
import { acceptedView, explanationView, heldView, writtenView } from './x1-views.ts';

/** Operations beyond the interface, under /api/x1. */
export type FirewallX1Handlers = Pick<
  Handlers,
  | 'listHeldAddresses'
  | 'readAcceptedAddress'
  | 'replaceAddress'
  | 'addRules'
  | 'setDefault'
  | 'previewDefault'
  | 'explainPacket'
  | 'readDrops'
>;

export interface X1Deps extends ServiceDeps, ExplainDeps {
  readonly publicUrl: string;
}

const PER_PAGE = 1000;

export function createX1Handlers(deps: X1Deps): FirewallX1Handlers {
  return {
    async listHeldAddresses(call, db) {
      const { caller } = call;
      const { after, limit } = pageOf(call);
      const held = {
        prefixes: await listHeldPrefixes(db, caller),
        // One more than requested tells whether there is another page.
        addresses: await loadHeldAddresses(db, caller, { after, limit: limit + 1 }),
        configured: await countConfigured(db, caller.organisationId),
      };
      const body = heldView(call, held, { limit, publicUrl: deps.publicUrl });
      return { status: 200, body, headers: readHeaders(await loadFleetState(db)) };
    },
    async readAcceptedAddress(call, db) {
      const accepted = await readAccepted(db, call);
      return {
        status: 200,
        body: acceptedView(call, accepted),
        headers: readHeaders(accepted.state),
        state: replaceableState(accepted.state),
      };
    },
    async replaceAddress(call, tx) {
      const replaced = await replaceAddress(deps, tx, call, replacementOf(call.body));
      return { status: 200, body: writtenView(replaced), headers: writeHeaders(replaced) };
    },
    async addRules(call, tx) {
      const rules = call.body.rules.map((rule) => ({ ...rule, ...portOf(rule) }));
      const added = await addNotedRules(deps, tx, call, rules);
      return { status: 201, body: writtenView(added), headers: writeHeaders(added) };
    },
    ...createDefaultHandlers(deps),
    async explainPacket(call, db) {
      const explained = await explainPacket(deps, db, call, call.body);
      return {
        status: 200,
        body: explanationView(explained),
        headers: { 'cache-control': 'no-store' },
      };
    },
    async readDrops(call, db) {
      const read = await readDrops(db, call);
      return { status: 200, body: dropsView(call.ip, read), headers: readHeaders(read.state) };
    },
  };
}

function createDefaultHandlers(
  deps: X1Deps,
): Pick<FirewallX1Handlers, 'setDefault' | 'previewDefault'> {
  return {
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
        body: previewView(call.ip, preview),
        headers: readHeaders(preview.state),
      };
    },
  };
}

/** What is replaced of the accepted view: own objects that are not deleted, with ports as expressions. */
function replacementOf(body: CallOf<'replaceAddress'>['body']): Replacement {
  const isOwn = (one: { readonly managed_by_group?: unknown; readonly status?: string }): boolean =>
    (one.managed_by_group ?? null) === null && one.status !== 'going';
  return {
    rules: body.rules.filter(isOwn).map((rule) => ({
      action: rule.action,
      protocol: rule.protocol,
      source_ip: rule.source_ip ?? null,
      ...portOf(rule),
    })),
    filters: body.filters.filter(isOwn).map(({ type, port }) => ({ type, port: String(port) })),
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
