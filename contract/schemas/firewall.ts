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
  textOrNull,
} from './values.ts';

export const RULE_ACTIONS = ['allow', 'deny'] as const;
export const RULE_PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'] as const;

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

export const Rule = object(
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

export const Filter = object(
  'Filter',
  'One stateful filter on one port of an address.',
  filterFields,
);

export const Limits = object('Limits', 'The limits in force for the organisation.', {
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

export const CatalogueEntry = object('CatalogueEntry', 'A filter that the address can have.', {
  type: Type.String({ description: 'Slug; what a create takes.', examples: ['tcp-syn-proxy'] }),
  name: Type.String({ description: 'Name for people.', examples: ['TCP SYN proxy'] }),
  category: openChoice(FILTER_CATEGORIES),
});

export const FilterCatalogue = object('FilterCatalogue', { data: Type.Array(CatalogueEntry) });
