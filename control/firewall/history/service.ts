import type { Tx } from '../../db/database.ts';
import { KEPT_OBJECT_DAYS } from '../../fleet/index.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import { invalidField } from '../../problem.ts';
import { lockServersNamedAt, renumber } from '../named-ports/index.ts';
import type { RuleNote } from '../notes/service.ts';
import {
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleIdentity,
  type WantedRule,
} from '@portcullis/core/firewall/rules/content.ts';
import {
  openWriteScope,
  ownObjects,
  type ServiceDeps,
  writeOwn,
  type Written,
} from '../writes/own-objects.ts';
import { addressReplaced } from '../writes/messages.ts';
import { loadPast, type PastRule, timeOf } from './store.ts';

/** Makes own rules and filters those of a generation, with their notes. Throws what a single write refuses. */
export async function restoreAddress(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  generation: number,
): Promise<Written> {
  await lockServersNamedAt(tx, call);
  const scope = await openWriteScope(tx, call);
  await requireKept(tx, scope.state.acceptedGeneration, generation);
  const past = await loadPast(tx, scope.address.id, generation);
  const existed = ({ deleted }: { readonly deleted: number | null }): boolean =>
    deleted === null || deleted > generation;
  const rules = await renumber(
    tx,
    scopeOf(call),
    past.rules.filter((rule) => existed(rule) && !isOver(rule)),
  );
  return writeOwn(deps, tx, call, scope, {
    cause: 'address.restore',
    detail: { to: generation },
    rules,
    filters: past.filters.filter(existed),
    noteOf: notesOf(rules),
    message: addressReplaced,
  });
}

/** Takes back what a generation did to own rules and filters; what was changed since stays. */
export async function undoChange(
  deps: ServiceDeps,
  tx: Tx,
  call: AddressCall,
  generation: number,
): Promise<Written> {
  await lockServersNamedAt(tx, call);
  const scope = await openWriteScope(tx, call);
  await requireKept(tx, scope.state.acceptedGeneration, generation);
  const past = await loadPast(tx, scope.address.id, generation);
  const own = ownObjects(scope);
  const deletedRules = past.rules.filter((rule) => rule.deleted === generation && !isOver(rule));
  const rules = await renumber(tx, scopeOf(call), deletedRules);
  const filters = past.filters.filter(({ deleted }) => deleted === generation);
  return writeOwn(deps, tx, call, scope, {
    cause: 'address.undo',
    detail: { undone: generation },
    rules: merge<WantedRule>(own.rules, past.rules, rules, generation, ruleIdentity),
    filters: merge<FilterContent>(own.filters, past.filters, filters, generation, filterKey),
    noteOf: notesOf(rules),
    message: addressReplaced,
  });
}

/** Its time is over: it does not come back, least of all for good. */
function isOver({ expiresAt }: PastRule): boolean {
  return expiresAt !== null && expiresAt.getTime() <= Date.now();
}

/** Merges what is there without what the generation created, and with what it deleted; each once. */
function merge<T>(
  there: readonly (T & { readonly id: number })[],
  past: readonly { readonly id: number; readonly created: number }[],
  deleted: readonly T[],
  generation: number,
  keyOf: (object: T) => string,
): T[] {
  const created = new Set(past.filter((one) => one.created === generation).map(({ id }) => id));
  const kept: T[] = there.filter(({ id }) => !created.has(id));
  const known = new Set(kept.map(keyOf));
  return [...kept, ...deleted.filter((one) => !known.has(keyOf(one)))];
}

function scopeOf({ by: caller, params: { ip } }: AddressCall) {
  return { organisationId: caller.organisationId, ip };
}

function notesOf(rules: readonly PastRule[]): (rule: RuleContent) => RuleNote | null {
  const notes = new Map(
    rules.map((rule) => [ruleIdentity(rule), { note: rule.note, tags: rule.tags }]),
  );
  return (rule) => notes.get(ruleIdentity(rule)) ?? null;
}

async function requireKept(tx: Tx, accepted: number, generation: number): Promise<void> {
  if (generation > accepted) {
    throw invalidField(
      '/generation',
      `There is no generation ${generation}; the newest is ${accepted}.`,
    );
  }
  const at = await timeOf(tx, generation);
  const oldest = Date.now() - KEPT_OBJECT_DAYS * 86_400_000;
  if (at === null || at.getTime() >= oldest) return;
  throw invalidField(
    '/generation',
    `Generation ${generation} is older than ${KEPT_OBJECT_DAYS} days; what was deleted before is not kept.`,
  );
}
