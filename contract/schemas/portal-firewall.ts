import { Type } from 'typebox';
import { FilterInput, RuleAction, RuleInput, RuleProtocol } from './firewall.ts';
import {
  answer,
  arrayOf,
  Asn,
  choice,
  CLOSED,
  id,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  object,
  openChoice,
  Port,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';
import { noteText, ObjectNames, tags } from './x1-firewall.ts';

export const RuleNote = sent('RuleNote', 'What the organisation keeps about a rule.', {
  note: noteText,
  tags,
});

export const RuleNotes = object('RuleNotes', {
  data: arrayOf(
    { rule: id({ description: 'Id of the rule.' }), note: textOrNull(), tags },
    { description: 'Only rules with a note or tags.' },
  ),
});

export const NotedAddresses = object('NotedAddresses', {
  data: arrayOf(
    {
      ip: IpAddress,
      rules: natural({ description: 'How many of its own rules have a note or tags.' }),
      tags: Type.Array(Type.String(), { description: 'Of these rules, each once, by name.' }),
    },
    { description: 'Only addresses with such a rule, IPv4 first, ascending.' },
  ),
  links: Type.Object({ next: textOrNull({ description: 'The page after; null on the last.' }) }),
});

export const NotedAddressesQuery = Type.Object(
  {
    search: Type.Optional(
      sentText({ maxLength: 200, description: 'Only rules whose note or tags contain this.' }),
    ),
    after: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }],
        description: 'Begin after this address.',
      }),
    ),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 1000, default: 1000 })),
  },
  CLOSED,
);

export const RuleNoteSaved = object('RuleNoteSaved', { data: RuleNote });

export const AddressChanged = object('AddressChanged', {
  data: Type.Object({
    generation: natural({ description: 'Of this change; undo takes it.' }),
    created: ObjectNames,
    deleted: ObjectNames,
  }),
  message: Type.String({ description: 'What was accepted, and how long it propagates.' }),
});

export const GenerationBody = sent('GenerationBody', {
  generation: natural({ description: 'As the history lists it.' }),
});

const HISTORY_KINDS = [
  'rule',
  'filter',
  'default',
  'group',
  'group_rule',
  'group_filter',
  'geo_rule',
  'blocked',
] as const;

const HistoryObject = object('HistoryObject', {
  kind: openChoice(HISTORY_KINDS, {
    description:
      '`group`, `geo_rule` and `blocked`: assigned to the address or a prefix around it, or taken off.',
  }),
  change: choice(['added', 'removed']),
  id: id({ description: 'Of the object.' }),
  name: Type.String({ description: 'The object in words.', examples: ['allow tcp 443'] }),
});

const HistoryEntry = object('HistoryEntry', 'A change of the policy of an address.', {
  generation: natural(),
  at: timestamp(),
  actor_kind: openChoice(['key', 'user', 'operator', 'fleet', 'system']),
  actor: Type.String({ description: 'Who did it: a key, a person, or a file.' }),
  action: Type.String({ description: 'Such as `rule.create`.' }),
  objects: Type.Array(HistoryObject, { description: 'The difference.' }),
  can_undo: Type.Boolean({
    description: 'Whether it changed own rules or filters, which undo and going back restore.',
  }),
});

export const History = object('History', {
  data: Type.Array(HistoryEntry, { description: 'Newest first.' }),
  links: Type.Object({ next: textOrNull({ description: 'The older page; null on the last.' }) }),
});

export const HistoryQuery = Type.Object(
  {
    before: Type.Optional(natural({ description: 'Only older generations than this.' })),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 100, default: 25 })),
  },
  CLOSED,
);

const shownMarks = {
  ref: textOrNull({ description: 'The organisation’s own name for it; null: none.' }),
  expires_at: timestampOrNull({ description: 'When it ends by itself; null: never.' }),
  note: textOrNull(),
};
const sentMarks = {
  ref: Type.Optional(
    sentTextOrNull({
      minLength: 1,
      maxLength: 100,
      description:
        'Your own name for it, unique in the group; for at most one port. Default: none.',
    }),
  ),
  expires_at: Type.Optional(
    timestampOrNull({ description: 'When it ends by itself, in the future. Default: never.' }),
  ),
  note: Type.Optional(noteText),
};

/** A rule of a group, with one port at most. */
const GroupRuleView = object('GroupRule', {
  id: id(),
  action: RuleAction,
  protocol: RuleProtocol,
  source_ip: textOrNull({ description: 'Null: any source.' }),
  destination_port: integerOrNull({ description: 'Null: any port.' }),
  ...shownMarks,
});

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
  filters: arrayOf({ id: id(), type: Type.String(), port: Port, ...shownMarks }),
  targets: shownTargets,
});

export const Groups = object('Groups', { data: Type.Array(Group) });

export const GroupInput = sent(
  'GroupInput',
  'A group whole: what is there and not here is taken out.',
  {
    name: sentText({ minLength: 1, maxLength: 200 }),
    rules: Type.Array(sent('GroupRuleInput', { ...RuleInput.properties, ...sentMarks }), {
      maxItems: 1000,
      description: 'All of its rules.',
    }),
    filters: Type.Array(sent('GroupFilterInput', { ...FilterInput.properties, ...sentMarks }), {
      maxItems: 100,
      description: 'All of its filters.',
    }),
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
