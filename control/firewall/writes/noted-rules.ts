import type { Tx } from '../../db/database.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { canonicalNote, type RuleNote } from '../notes/service.ts';
import { ruleKey } from '../objects.ts';
import { openWriteScope, type ServiceDeps } from './address-write.ts';
import { requireRuleCount } from './limits.ts';
import { ruleExists } from './messages.ts';
import { readRules, type Replaced, resolveOf, writeOwn } from './replace.ts';
import type { NamingRuleRequest } from './rules.ts';

export interface NotedRuleRequest extends NamingRuleRequest {
  readonly note?: string | null;
  readonly tags?: readonly string[];
}

/** Creates rules with their notes, all together or none. Throws what a single create refuses. */
export async function createNotedRules(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  requests: readonly NotedRuleRequest[],
): Promise<Replaced> {
  const scope = await openWriteScope(deps, tx, call);
  const named = await resolveOf(tx, call, requests);
  const rules = readRules(call, requests, named);
  const there = new Set(scope.state.rules.map(ruleKey));
  const equal = rules.filter((rule) => there.has(ruleKey(rule)));
  if (equal.length > 0) {
    const ports = new Set(equal.flatMap(({ port }) => port ?? []));
    throw new Problem('rule_exists', ruleExists([...ports].toSorted((a, b) => a - b)));
  }
  requireRuleCount(call, scope.state.rules.length, rules.length);
  const notes = new Map<string, RuleNote>();
  for (const request of requests) {
    const note = canonicalNote({ note: request.note ?? null, tags: request.tags ?? [] });
    for (const rule of readRules(call, [request], named)) notes.set(ruleKey(rule), note);
  }
  const isOwn = ({ group }: { readonly group: unknown }): boolean => group === null;
  return writeOwn(deps, tx, call, scope, {
    cause: 'rule.create',
    rules: [...scope.state.rules.filter(isOwn), ...rules],
    filters: scope.state.filters.filter(isOwn),
    noteOf: (rule) => notes.get(ruleKey(rule)) ?? null,
  });
}
