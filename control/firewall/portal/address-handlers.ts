import { findHolding } from '../../access/index.ts';
import type { Db } from '../../db/database.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import { notHeld } from '../../http/operations/not-found.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { restoreAddress, undoChange } from '../history/service.ts';
import { loadHistory } from '../history/store.ts';
import { loadAddressNotes, loadNotedAddresses, saveRuleNote } from '../notes/service.ts';
import { timeView } from '../../http/operations/view.ts';
import { writeHeaders } from '../views.ts';
import type { ServiceDeps, Written } from '../writes/own-objects.ts';

export type AddressPortalHandlers = Pick<
  Handlers,
  | 'listNotedAddresses'
  | 'listRuleNotes'
  | 'saveRuleNote'
  | 'readHistory'
  | 'undoChange'
  | 'restoreAddress'
>;

const PER_PAGE = 25;
const ADDRESSES_PER_PAGE = 1000;

export function createAddressPortalHandlers(deps: ServiceDeps): AddressPortalHandlers {
  return {
    async listNotedAddresses(call, db) {
      return { status: 200, body: await notedPage(db, call) };
    },
    async listRuleNotes(call, db) {
      const notes = await loadAddressNotes(db, await heldBy(db, call), call.params.ip);
      const data = notes.map(({ id, note, tags }) => ({ rule: id, note, tags }));
      return { status: 200, body: { data } };
    },
    async saveRuleNote(call, tx) {
      const saved = await saveRuleNote(tx, call.by.organisationId, call.params.rule, call.body);
      return { status: 200, body: { data: saved } };
    },
    async readHistory(call, db) {
      return { status: 200, body: await historyPage(db, call) };
    },
    async undoChange(call, tx) {
      return changed(await undoChange(deps, tx, call, call.body.generation));
    },
    async restoreAddress(call, tx) {
      return changed(await restoreAddress(deps, tx, call, call.body.generation));
    },
  };
}

async function notedPage(db: Db, { by: caller, query }: CallOf<'listNotedAddresses'>) {
  const { search = '', after = null, per_page: perPage = ADDRESSES_PER_PAGE } = query;
  const page = { search, after, limit: perPage + 1 };
  const found = await loadNotedAddresses(db, caller.organisationId, page);
  const data = found.slice(0, perPage);
  const last = found.length > perPage ? data.at(-1) : undefined;
  const next = last && { search, after: last.ip, per_page: String(perPage) };
  return { data, links: { next: next === undefined ? null : `?${new URLSearchParams(next)}` } };
}

async function heldBy(db: Db, { by: caller, params: { ip } }: AddressCall): Promise<number> {
  const holding = await findHolding(db, caller, ip);
  if (holding === null) throw notHeld();
  return holding.id;
}

function changed(replaced: Written) {
  const { created, deleted, generation, message } = replaced;
  return {
    status: 200,
    body: { data: { generation, created, deleted }, message },
    headers: writeHeaders(replaced),
  };
}

async function historyPage(db: Db, call: CallOf<'readHistory'>) {
  const holdingId = await heldBy(db, call);
  const { before, per_page: perPage = PER_PAGE } = call.query;
  const of = { organisationId: call.by.organisationId, holdingId, ip: call.params.ip };
  const entries = await loadHistory(db, of, { before: before ?? null, limit: perPage + 1 });
  const shown = entries.slice(0, perPage);
  const last = entries.length > perPage ? shown.at(-1) : undefined;
  const next =
    last &&
    `?${new URLSearchParams({ before: String(last.generation), per_page: String(perPage) })}`;
  return {
    data: shown.map(({ generation, at, actorKind, actor, action, objects }) => ({
      generation,
      at: timeView(at),
      actor_kind: actorKind,
      actor,
      action,
      objects,
      can_undo: objects.some(({ kind }) => kind === 'rule' || kind === 'filter'),
    })),
    links: { next: next ?? null },
  };
}
