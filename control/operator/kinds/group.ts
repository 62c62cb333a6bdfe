import { GROUP, type GroupObject } from '@portcullis/contract/schemas/declared/group.ts';
import type { OrganisationObject } from '@portcullis/contract/schemas/declared/organisation.ts';
import { countOf } from '@portcullis/core/count.ts';
import { filterKey } from '@portcullis/core/firewall/rules/content.ts';
import { describeRule } from '@portcullis/core/firewall/rules/describe.ts';
import { describeMarks } from '@portcullis/core/firewall/rules/marks.ts';
import { deleteGroups } from '../../firewall/groups/index.ts';
import {
  APPENDED,
  type Current,
  defineKind,
  type FilePart,
  type Refuse,
  type Writing,
  type Written,
} from '../kind.ts';
import { compareContent, contentOf, type GroupFacts } from './group-content.ts';
import { joinEntries, readFilters, readRules } from './rule-entries.ts';
import { adoptGroups, loadGroups, saveGroups } from './group-table.ts';
import { describePlaces, placeAll, shorten, targetsOf, withoutAddresses } from './placing.ts';

/** Rules and filters that an organisation puts on many addresses at once. */
export const group = defineKind<typeof GROUP, GroupObject, GroupFacts>(GROUP, {
  place: '/organisations/{organisation}/groups/*',
  write: (many, about) => many.map((one) => writeGroup(one, about)),
  key: ({ organisation, name }) => `${organisation} ${name}`,
  organisation: ({ organisation }) => organisation,
  refersTo: [
    {
      kind: 'organisation',
      pointer: '/organisation',
      key: ({ organisation }) => organisation,
      check: (object, named, refuse) => checkContent(object, named as OrganisationObject, refuse),
    },
  ],
  clash: ({ name }) => `The group ${name} is here twice.`,
  targets: targetsOf,
  without: withoutAddresses,
  checkByHand: refuseExpired,
  async admit(tx, wanted) {
    await placeAll(tx, targetsOf, [wanted]);
  },
  load: loadGroups,
  adopt: adoptGroups,
  save: saveGroups,
  async remove(batch, many) {
    await deleteGroups(
      batch,
      many.map(({ id }) => id),
    );
  },
  subject: ({ organisation, name }) => `group ${name} (${organisation})`,
  summary({ addresses, ...object }) {
    const { rules, filters } = contentOf(object);
    const content = [countOf(rules.length, 'rule'), countOf(filters.length, 'filter')];
    return shorten([...content, ...describePlaces([], addresses)]).join(', ');
  },
  shown: () => ({}),
  further: describeChanges,
  ending: ({ object: { addresses } }) =>
    addresses.length > 0 ? `off ${countOf(addresses.length, 'target')}` : '',
  notes(object) {
    const subject = `group ${object.name} (${object.organisation})`;
    return expiredIn(object).map((one) => `${subject}: ${one} has expired`);
  },
});

/** Rules that differ only in their ports are written as one. */
function writeGroup(one: Written<GroupObject, GroupFacts>, { maxPorts }: Writing): FilePart {
  const { organisation: _organisation, rules, filters, ...fields } = one.fields;
  const most = maxPorts(one.object.organisation);
  const value = {
    ...fields,
    ...(rules !== undefined && { rules: joinEntries(rules, 'destination_port', most) }),
    ...(filters !== undefined && { filters: joinEntries(filters, 'port', most) }),
  };
  return { path: ['organisations', one.object.organisation, 'groups', APPENDED], value, of: [one] };
}

function checkContent(
  { rules, filters }: GroupObject,
  { limits }: OrganisationObject,
  refuse: Refuse,
): void {
  const maxPorts = limits.max_ports_per_request;
  readRules(rules, (inside, why) => refuse(`/rules${inside}`, why), { maxPorts });
  readFilters(filters, (inside, why) => refuse(`/filters${inside}`, why), maxPorts);
}

/** A file is as if what has expired were not there; a request did not mean that. */
function refuseExpired({ rules, filters }: GroupObject, refuse: Refuse): void {
  for (const [list, entries] of Object.entries({ rules, filters })) {
    for (const [index, { expires_at: ends }] of entries.entries()) {
      if (ends === null || !(Date.parse(ends) <= Date.now())) continue;
      refuse(`/${list}/${index}/expires_at`, 'This is over already.');
    }
  }
}

function isTimed({ expires_at: ends }: { readonly expires_at: string | null }): boolean {
  return ends !== null;
}

function expiredIn({ rules, filters }: GroupObject): readonly string[] {
  return [
    ...readRules(rules.filter(isTimed)).expired,
    ...readFilters(filters.filter(isTimed)).expired,
  ];
}

function describeChanges(
  { object, facts }: Current<GroupObject, GroupFacts>,
  after: GroupObject,
  isEqual: boolean,
): string[] {
  // Time changes only what ends.
  if (isEqual && ![...after.rules, ...after.filters].some(isTimed)) return [];
  const { rules, filters, markedRules, markedFilters } = compareContent(facts, after);
  return shorten([
    ...rules.deleted.map((rule) => `- ${describeRule(rule)}`),
    ...filters.deleted.map((filter) => `- filter ${filterKey(filter)}`),
    ...rules.created.map((rule) => `+ ${describeRule(rule)}`),
    ...filters.created.map((filter) => `+ filter ${filterKey(filter)}`),
    ...markedRules.map(
      ({ stored, marks }) => `~ ${describeRule(stored)}: ${describeMarks(marks, stored)}`,
    ),
    ...markedFilters.map(
      ({ stored, marks }) => `~ filter ${filterKey(stored)}: ${describeMarks(marks, stored)}`,
    ),
    ...describePlaces(object.addresses, after.addresses),
  ]);
}
