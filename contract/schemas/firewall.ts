import { Type } from 'typebox';
import {
  choice,
  id,
  integerOrNull,
  IpAddress,
  natural,
  object,
  openChoice,
  orNull,
  Port,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
} from './values.ts';

const RULE_ACTIONS = ['allow', 'deny'] as const;
const RULE_PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'] as const;

export const GroupRef = object(
  'GroupRef',
  'The firewall group that owns an object. Such an object is changed in its group.',
  {
    id: id({ description: 'Id of the group.' }),
    name: Type.String({ description: 'Name of the group.' }),
  },
);

export const RuleAction = choice(RULE_ACTIONS, {
  title: 'RuleAction',
  description: 'What happens to a packet that the rule matches.',
});

export const RuleProtocol = choice(RULE_PROTOCOLS, {
  title: 'RuleProtocol',
  description: '`icmp` means ICMPv6 on an IPv6 address; `any` is every protocol.',
});

const managedByGroup = () =>
  orNull(GroupRef, { description: 'The group that owns it; null: it is the address’s own.' });

/** The fields of a rule in the live view and in the accepted view. */
export const ruleFields = {
  id: id({ description: 'What a delete takes.' }),
  action: RuleAction,
  protocol: openChoice(RULE_PROTOCOLS, { description: 'As in a create.' }),
  source_ip: textOrNull({
    description: 'An address or a CIDR block; null means any source.',
    examples: ['198.51.100.0/24'],
  }),
  destination_ip: IpAddress,
  destination_port: integerOrNull({
    minimum: 1,
    maximum: 65_535,
    description: 'A port of tcp or udp; null means any port. Never 0.',
    examples: [25_565],
  }),
  managed_by_group: managedByGroup(),
};

const Rule = object(
  'Rule',
  'One rule on one address and at most one port. Allow rules are listed before deny.',
  ruleFields,
);

export const filterFields = {
  key: Type.String({
    description: 'What a delete takes. Take it as it is: its format may change.',
    examples: ['udp-stateful:27015'],
  }),
  type: Type.String({ description: 'Slug of the filter.', examples: ['udp-stateful'] }),
  name: Type.String({ description: 'Name for people.', examples: ['UDP stateful'] }),
  port: Port,
  managed_by_group: managedByGroup(),
};

const Filter = object('Filter', 'One stateful filter on one port of an address.', filterFields);

const Limits = object('Limits', 'The limits in force for the organisation.', {
  rules_per_ip: natural({ description: 'Rules on one address, those of groups included.' }),
  filters_per_ip: natural({ description: 'Filters on one address, those of groups included.' }),
  max_ports_per_request: natural({ description: 'Ports that one create may name.' }),
});

export const addressMetaFields = {
  rules_count: natural({ description: 'How many rules are listed.' }),
  filters_count: natural({ description: 'How many filters are listed.' }),
  limits: Limits,
};

export const FirewallAddress = object('FirewallAddress', 'What is live on an address.', {
  data: Type.Object({
    ip: IpAddress,
    rules: Type.Array(Rule, { description: 'Allow before deny, then by id.' }),
    filters: Type.Array(Filter),
  }),
  meta: Type.Object(addressMetaFields),
});

export const FILTER_CATEGORIES = ['protocols', 'games'] as const;

const CatalogueEntry = object('CatalogueEntry', 'A filter that the address can have.', {
  type: Type.String({ description: 'Slug; what a create takes.', examples: ['tcp-syn-proxy'] }),
  name: Type.String({ description: 'Name for people.', examples: ['TCP SYN proxy'] }),
  category: openChoice(FILTER_CATEGORIES),
});

export const FilterCatalogue = object('FilterCatalogue', { data: Type.Array(CatalogueEntry) });

/** The limit of the port expression parser; enough for thousands of ports. */
export const MAX_PORT_EXPRESSION = 65_536;
/** Longer than any address or CIDR, so that a slightly too long text still gets a useful reason. */
const MAX_SOURCE = 64;
const MAX_SLUG = 64;

export const PORT_EXPRESSION =
  'a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once.';

/** The fields of a rule in create and replace. */
export const RuleInput = sent(
  'RuleInput',
  'A rule to create; one is made for every port of the expression.',
  {
    action: RuleAction,
    protocol: RuleProtocol,
    destination_port: Type.Optional(
      sentTextOrNull({
        maxLength: MAX_PORT_EXPRESSION,
        description: `With tcp and udp only: ${PORT_EXPRESSION} Left out or null: any port.`,
        examples: ['80', '7000-7010', '80,443'],
      }),
    ),
    source_ip: Type.Optional(
      sentTextOrNull({
        maxLength: MAX_SOURCE,
        description:
          'An address or a CIDR block of the address’s own family, without host bits. Left out or null: any source.',
        examples: ['198.51.100.7', '198.51.100.0/24'],
      }),
    ),
  },
);

/** The fields of a filter in create and replace. */
export const FilterInput = sent(
  'FilterInput',
  'A filter to create; one is made for every port of the expression.',
  {
    type: sentText({
      minLength: 1,
      maxLength: MAX_SLUG,
      description: 'A slug from the catalogue of the same address.',
      examples: ['udp-stateful'],
    }),
    port: sentText({
      minLength: 1,
      maxLength: MAX_PORT_EXPRESSION,
      description: `The ports to filter: ${PORT_EXPRESSION}`,
      examples: ['27015', '27015-27020', '25565,25575'],
    }),
  },
);

/** The most ids or keys per delete. */
const MAX_PER_DELETE = 100;

export const RuleDeletion = sent('RuleDeletion', {
  ids: Type.Array(id({ examples: [1041] }), {
    minItems: 1,
    maxItems: MAX_PER_DELETE,
    description: 'Ids of rules of this address. Others are skipped.',
  }),
});

export const FilterDeletion = sent('FilterDeletion', {
  keys: Type.Array(sentText({ minLength: 1, maxLength: 255, examples: ['udp-stateful:27015'] }), {
    minItems: 1,
    maxItems: MAX_PER_DELETE,
    description: 'Keys of filters as read from this address. Others are skipped.',
  }),
});

const message = (description: string) => Type.String({ description });

export const RulesCreated = object('RulesCreated', {
  data: Type.Object({
    ids: Type.Array(id(), { description: 'Ids of the rules that landed, by ascending port.' }),
    created: natural({ description: 'How many landed.' }),
    requested: natural({
      description: 'How many were asked for. More than `created`: some ports got no rule.',
    }),
  }),
  message: message('That it was accepted and how long it propagates; which rule makes it moot.'),
});

export const RulesDeleted = object('RulesDeleted', {
  data: Type.Object({
    deleted: natural({
      description: 'How many were deleted. Fewer than sent: the rest is not on this address.',
    }),
    ids: Type.Array(id(), { description: 'Ids of the rules that were deleted.' }),
  }),
  message: message('What was accepted, and how long it propagates.'),
});

export const FiltersCreated = object('FiltersCreated', {
  data: Type.Object({
    type: Type.String({ description: 'Slug of the filter.' }),
    created: natural({ description: 'On how many ports it was put.' }),
  }),
  message: message('What was accepted, and the warning that connections must reconnect.'),
});

export const FiltersDeleted = object('FiltersDeleted', {
  data: Type.Object({
    deleted: natural({
      description: 'How many were deleted. Fewer than sent: the rest is not on this address.',
    }),
  }),
  message: message('What was accepted, and how long it propagates.'),
});
