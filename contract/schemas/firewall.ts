import { type Static, Type } from 'typebox';
import {
  AddressText,
  Count,
  exact,
  Integer,
  NO_CONTROL_CHARACTERS,
  PortExpression,
} from './text.ts';

export const ACTIONS = ['allow', 'deny'] as const;
export const PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'] as const;

const Action = Type.String({ enum: [...ACTIONS] });
const Protocol = Type.String({
  enum: [...PROTOCOLS],
  description: '`icmp` means ICMPv6 on an IPv6 address; `any` is every protocol.',
});

const SourceInput = Type.Union(
  [Type.String({ minLength: 1, maxLength: 64, pattern: NO_CONTROL_CHARACTERS }), Type.Null()],
  {
    description:
      "An address or a CIDR block of the address's own family; omitted, null or the whole family: any source.",
    examples: ['198.51.100.0/24'],
  },
);

const PortsInput = Type.Union([PortExpression, Type.Null()], {
  description:
    'Only with tcp and udp. Omitted or null: any port, one rule. Otherwise one rule for each port.',
});

export const ManagedByGroup = Type.Union(
  [exact({ id: Integer, name: Type.String() }), Type.Null()],
  {
    description: 'The firewall group that owns the object; null for your own.',
  },
);

const ruleFields = {
  id: Integer,
  action: Action,
  protocol: Protocol,
  source_ip: Type.Union([Type.String(), Type.Null()], {
    description: 'A single address or a CIDR block; null means any source.',
  }),
  destination_ip: AddressText,
  destination_port: Type.Union([Type.Integer({ minimum: 1, maximum: 65_535 }), Type.Null()], {
    description: 'null means any port.',
  }),
  managed_by_group: ManagedByGroup,
};

const filterFields = {
  key: Type.String({
    description: 'What the delete operation takes. Read it here; never assemble it.',
  }),
  type: Type.String(),
  name: Type.String(),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  managed_by_group: ManagedByGroup,
};

const Limits = exact(
  { rules_per_ip: Count, filters_per_ip: Count, max_ports_per_request: Count },
  'The live limits of the organisation.',
);

const viewMeta = { rules_count: Count, filters_count: Count, limits: Limits };

export const Rule = exact(ruleFields);
export const Filter = exact(filterFields);

export const FirewallAddress = exact({
  data: exact({ ip: AddressText, rules: Type.Array(Rule), filters: Type.Array(Filter) }),
  meta: exact(viewMeta),
});

export const FilterCatalogue = exact({
  data: Type.Array(
    exact({
      type: Type.String(),
      name: Type.String(),
      category: Type.String({ enum: ['protocols', 'games'] }),
    }),
  ),
});

export const RuleRequest = exact({
  action: Action,
  protocol: Protocol,
  destination_port: Type.Optional(PortsInput),
  source_ip: Type.Optional(SourceInput),
});

export const RulesCreated = exact({
  data: exact({
    ids: Type.Array(Integer, {
      description: 'The rules created, in ascending order of their ports.',
    }),
    created: Count,
    requested: Count,
  }),
  message: Type.String(),
});

export const RuleDeletion = exact({
  ids: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
    minItems: 1,
    maxItems: 100,
  }),
});

export const RulesDeleted = exact({
  data: exact({ deleted: Count, ids: Type.Array(Integer) }),
  message: Type.String(),
});

const FilterSlug = Type.String({ minLength: 1, maxLength: 64, pattern: NO_CONTROL_CHARACTERS });

export const FilterRequest = exact({ type: FilterSlug, port: PortExpression });

export const FiltersCreated = exact({
  data: exact({ type: Type.String(), created: Count }),
  message: Type.String(),
});

export const FilterDeletion = exact({
  keys: Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: NO_CONTROL_CHARACTERS }), {
    minItems: 1,
    maxItems: 100,
  }),
});

export const FiltersDeleted = exact({ data: exact({ deleted: Count }), message: Type.String() });

// What callers, command line and portal need beyond the interface.

const Propagation = Type.String({
  enum: ['live', 'pending', 'going'],
  description: '`pending`: accepted, not live yet. `going`: deleted, still live.',
});
const Moment = Type.Union([Type.String({ format: 'date-time' }), Type.Null()]);

export const HeldAddresses = exact({
  data: exact({
    prefixes: Type.Array(
      exact({
        cidr: Type.String(),
        asn: Integer,
        since: Type.String({ format: 'date-time' }),
        until: Moment,
      }),
    ),
    addresses: Type.Array(
      exact({
        ip: AddressText,
        service_id: Type.Union([Integer, Type.Null()]),
        since: Type.String({ format: 'date-time' }),
        until: Moment,
        rules_count: Count,
        filters_count: Count,
      }),
    ),
  }),
  links: exact({ next: Type.Union([Type.String(), Type.Null()]) }),
  meta: exact({ configured_addresses: Count, limits: exact({ configured_addresses: Count }) }),
});

export const HeldAddressesQuery = exact({
  after: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: 45,
      description: 'The last address of the page before',
    }),
  ),
  per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 1000 })),
});

export const AcceptedAddress = exact({
  data: exact({
    ip: AddressText,
    rules: Type.Array(exact({ ...ruleFields, status: Propagation })),
    filters: Type.Array(exact({ ...filterFields, status: Propagation })),
  }),
  meta: exact({
    ...viewMeta,
    accepted_generation: Count,
    live_generation: Count,
    edges: Type.Array(
      exact({
        name: Type.String(),
        generation: Count,
        in_service: Type.Boolean(),
        refused: Type.Union([Type.String(), Type.Null()], {
          description: 'Why this edge could not apply the address; null when it did.',
        }),
      }),
    ),
  }),
});

export const AddressReplacement = exact({
  rules: Type.Array(RuleRequest, { maxItems: 1000 }),
  filters: Type.Array(FilterRequest, { maxItems: 1000 }),
});

export const AddressReplaced = exact({
  data: exact({
    created: exact({ rules: Type.Array(Integer), filters: Type.Array(Type.String()) }),
    deleted: exact({ rules: Type.Array(Integer), filters: Type.Array(Type.String()) }),
    unchanged: Count,
  }),
  message: Type.String(),
});

const Port = Type.Integer({ minimum: 0, maximum: 65_535 });
const Octet = Type.Integer({ minimum: 0, maximum: 255 });

/** A packet to judge. Ports belong to tcp and udp, type and code to icmp; other protocols go by number. */
export const ExplainRequest = exact({
  protocol: Type.Union([
    Type.String({ enum: ['tcp', 'udp', 'icmp', 'gre', 'esp'] }),
    Type.Integer({ minimum: 0, maximum: 255 }),
  ]),
  source_ip: Type.String({ minLength: 2, maxLength: 45, pattern: NO_CONTROL_CHARACTERS }),
  source_port: Type.Optional(Port),
  destination_port: Type.Optional(Port),
  icmp_type: Type.Optional(Octet),
  icmp_code: Type.Optional(Octet),
  view: Type.Optional(Type.String({ enum: ['accepted', 'live'], default: 'accepted' })),
});

export const Explanation = exact({
  data: exact({
    verdict: Type.String({ enum: ['pass', 'drop'] }),
    stage: Type.String({ description: 'The stage of judgement that decided.' }),
    decided_by: Type.Union([
      exact({
        kind: Type.String({
          enum: ['rule', 'group_rule', 'geo_rule', 'baseline', 'filter', 'mitigation'],
        }),
        id: Type.Union([Integer, Type.Null()]),
        managed_by_group: ManagedByGroup,
      }),
      Type.Null(),
    ]),
    explanation: Type.String(),
  }),
});

export type RuleRequestBody = Static<typeof RuleRequest>;
