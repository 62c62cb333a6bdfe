import type { GroupObject } from '@portcullis/contract/schemas/declared/group.ts';
import {
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleIdentity,
} from '@portcullis/core/firewall/rules/content.ts';
import { difference } from '@portcullis/core/firewall/rules/difference.ts';
import { changedMarks } from '@portcullis/core/firewall/rules/marks.ts';
import type { StoredMarks } from '../../firewall/groups/index.ts';
import type { Placed } from '../kind.ts';
import { readFilters, readRules } from './rule-entries.ts';

export interface GroupFacts extends Placed {
  readonly rules: readonly (RuleContent & StoredMarks)[];
  readonly filters: readonly (FilterContent & StoredMarks)[];
}

/** The rules and filters of an object, one a port. */
export function contentOf({ rules, filters }: Pick<GroupObject, 'rules' | 'filters'>) {
  return { rules: readRules(rules).found, filters: readFilters(filters).found };
}

/** Rules and filters that a group gets, loses, and keeps with other marks. */
export function compareContent(
  stored: Pick<GroupFacts, 'rules' | 'filters'>,
  object: Pick<GroupObject, 'rules' | 'filters'>,
) {
  const wanted = contentOf(object);
  const rules = difference(stored.rules, wanted.rules, ruleIdentity);
  const filters = difference(stored.filters, wanted.filters, filterKey);
  return {
    rules,
    filters,
    markedRules: changedMarks(rules.kept, wanted.rules),
    markedFilters: changedMarks(filters.kept, wanted.filters),
  };
}
