import { Type } from 'typebox';
import { FILTER_CATEGORIES } from './firewall.ts';
import { FilterInput, RuleInput } from './firewall-writes.ts';
import { GroupRuleView } from './portal-firewall.ts';
import {
  answer,
  arrayOf,
  Asn,
  choice,
  id,
  natural,
  object,
  openChoice,
  Port,
  sent,
  sentText,
  timestamp,
} from './values.ts';

const owner = openChoice(['fleet', 'portal'], {
  description: '`fleet`: the fleet file owns it, and it is changed there.',
});

const shownTargets = Type.Array(Type.String({ examples: ['203.0.113.10', '203.0.113.0/24'] }), {
  description: 'Addresses and prefixes that it is assigned to.',
});
const sentTargets = Type.Array(sentText({ minLength: 2, maxLength: 50 }), {
  maxItems: 1000,
  description: 'Addresses, or prefixes inside holdings; each once.',
});

const Group = object('Group', 'Rules and filters for several addresses at once.', {
  id: id(),
  name: Type.String(),
  owner,
  rules: Type.Array(GroupRuleView),
  filters: arrayOf({ id: id(), type: Type.String(), port: Port }),
  targets: shownTargets,
});

export const Groups = object('Groups', { data: Type.Array(Group) });

export const GroupInput = sent(
  'GroupInput',
  'A group whole: what is there and not here is taken out.',
  {
    name: sentText({ minLength: 1, maxLength: 200 }),
    rules: Type.Array(RuleInput, { maxItems: 1000, description: 'All of its rules.' }),
    filters: Type.Array(FilterInput, { maxItems: 100, description: 'All of its filters.' }),
    targets: sentTargets,
  },
);

const difference = {
  rules_added: Type.Array(Type.String({ examples: ['deny udp 19'] })),
  rules_removed: Type.Array(Type.String()),
  filters_added: Type.Array(Type.String({ examples: ['udp-stateful:27015'] })),
  filters_removed: Type.Array(Type.String()),
};

const Conflict = object('GroupConflict', 'Why the group cannot be so.', {
  target: Type.String({ description: 'The address or prefix where it is.' }),
  code: openChoice(['rule_exists', 'filter_exists', 'limit_exceeded', 'filter_unavailable']),
  detail: Type.String(),
});

export const GroupPreview = answer('GroupPreview', {
  targets: arrayOf(
    {
      target: Type.String(),
      change: choice(['assigned', 'unassigned', 'changed', 'unchanged']),
      configured_addresses: natural({
        description: 'Addresses in it with rules or filters of their own.',
      }),
      ...difference,
    },
    { description: 'What changes where.' },
  ),
  conflicts: Type.Array(Conflict, {
    description: 'Any one of them stops the whole change. At most 20 are listed.',
  }),
});

export const GroupSaved = object('GroupSaved', {
  data: Type.Object({ id: id(), generation: natural() }),
  message: Type.String(),
});

const countries = Type.Array(
  Type.Unsafe<string>({ type: 'string', pattern: '^[A-Z]{2}$', examples: ['DE'] }),
  { maxItems: 300, description: 'ISO 3166-1 alpha-2.' },
);
const asns = Type.Array(Asn, { maxItems: 1000 });
const geoAction = choice(['deny', 'only'], {
  description: '`deny` drops these; `only` drops everything else.',
});

const GeoRule = object('GeoRule', {
  id: id(),
  action: geoAction,
  countries,
  asns,
  owner,
  targets: shownTargets,
  created_at: timestamp(),
});

export const GeoRules = object('GeoRules', { data: Type.Array(GeoRule) });

export const GeoRuleInput = sent('GeoRuleInput', {
  action: geoAction,
  countries,
  asns,
  targets: sentTargets,
});

export const FilterTypes = object('FilterTypes', {
  data: arrayOf({
    type: Type.String(),
    name: Type.String(),
    category: openChoice(FILTER_CATEGORIES),
  }),
});
