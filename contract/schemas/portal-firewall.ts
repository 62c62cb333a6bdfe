import { Type } from 'typebox';
import { RuleAction, RuleProtocol } from './firewall.ts';
import {
  arrayOf,
  choice,
  CLOSED,
  id,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  object,
  openChoice,
  sent,
  sentText,
  textOrNull,
  timestamp,
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

export const HISTORY_KINDS = [
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

/** A rule of a group, with one port at most. */
export const GroupRuleView = object('GroupRule', {
  id: id(),
  action: RuleAction,
  protocol: RuleProtocol,
  source_ip: textOrNull({ description: 'Null: any source.' }),
  destination_port: integerOrNull({ description: 'Null: any port.' }),
});
