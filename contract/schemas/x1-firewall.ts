import { Type } from 'typebox';
import {
  addressMetaFields,
  filterFields,
  FilterInput,
  GroupRef,
  ruleFields,
  RuleInput,
} from './firewall.ts';
import { DropTotal } from './x1-drops.ts';
import { FilterSettings, FilterSettingsInput } from './x1-filter-settings.ts';
import {
  answer,
  Asn,
  choice,
  choiceOrNull,
  CLOSED,
  id,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  object,
  openChoice,
  orNull,
  Port,
  Prefix,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const PROPAGATION_STATES = ['live', 'pending', 'going'] as const;

const PropagationState = openChoice(PROPAGATION_STATES, {
  title: 'PropagationState',
  description:
    '`live`: on every edge in service. `pending`: accepted, not everywhere yet, or nowhere while no edge enforces. `going`: deleted, still somewhere.',
});

const DefaultAction = choice(['accept', 'deny'], {
  title: 'DefaultAction',
  description: 'What happens to a packet that no rule matches.',
});

/** Longer than any name of a server and its port. */
const MAX_PORT_NAME = 300;
const PORT_NAME =
  'A port of a game server as `SERVER:PORT`: the name of the server or its uuid, and the name of the port; `primary` is the first one.';

const namedPort = textOrNull({
  description: `${PORT_NAME} The rule follows it. Null: it has its port by number.`,
  examples: ['Survival:query'],
});

const REF_LENGTH = 100;

const AcceptedRule = object('AcceptedRule', 'A rule as accepted, and how far it has come.', {
  ...ruleFields,
  named_port: namedPort,
  ref: textOrNull({
    description: 'The organisation’s own name for it, unique on the address.',
    examples: ['ci-ssh'],
  }),
  expires_at: timestampOrNull({ description: 'When it ends by itself; null: never.' }),
  status: PropagationState,
});

const AcceptedFilter = object('AcceptedFilter', 'A filter as accepted, and how far it has come.', {
  ...filterFields,
  settings: FilterSettings,
  status: PropagationState,
});

const EdgeProgress = object('EdgeProgress', 'How far an edge that serves the address has come.', {
  name: Type.String({ description: 'Name of the edge.', examples: ['fra1'] }),
  generation: natural({ description: 'The newest generation of this address that it has.' }),
  in_service: Type.Boolean({ description: 'Whether it counts for what is live.' }),
  refused: textOrNull({
    description: 'Why it could not apply this address; null: it applied it.',
  }),
});

export const AcceptedAddress = object(
  'AcceptedAddress',
  'What was accepted for an address, object by object.',
  {
    data: Type.Object({
      ip: IpAddress,
      default: DefaultAction,
      rules: Type.Array(AcceptedRule, { description: 'Allow before deny, then by id.' }),
      filters: Type.Array(AcceptedFilter),
    }),
    meta: Type.Object({
      ...addressMetaFields,
      accepted_generation: natural({ description: 'The newest generation that was accepted.' }),
      live_generation: integerOrNull({
        minimum: 0,
        description:
          'The newest that every edge serving it has in its kernel; null: no edge enforces for it, and what is accepted waits for one.',
      }),
      enforcement: choice(['full', 'partial', 'none'], {
        description:
          '`full`: every edge that serves the address enforces. `partial`: one is out of service, lacks a device, or refused it. `none`: no edge enforces.',
      }),
      edges: Type.Array(EdgeProgress),
    }),
  },
);

/** Above every limit in force, and within the size of a body. */
const MAX_RULES = 4096;
const MAX_FILTERS = 1024;

const IGNORED = { description: 'As it was read; ignored.' };
/** Members of the accepted view that a replace ignores, so that what was read can be sent back. */
const readOnly = {
  managed_by_group: Type.Optional(
    orNull(GroupRef, { description: 'An object of a group is ignored: it stays as it is.' }),
  ),
  status: Type.Optional(
    sentText({ maxLength: 20, description: 'A `going` object is ignored: it is deleted already.' }),
  ),
};

const ruleMarks = {
  ref: Type.Optional(
    sentTextOrNull({
      minLength: 1,
      maxLength: REF_LENGTH,
      description:
        'Your own name for the rule, unique on the address; for at most one port. Null: none. Absent: as the equal rule has it. A rule that takes the place of another of the same name keeps its note and tags.',
      examples: ['ci-ssh'],
    }),
  ),
  expires_at: Type.Optional(
    timestampOrNull({
      description:
        'When the rule ends by itself, in the future. Null: never. Absent: as the equal rule has it.',
    }),
  ),
};

const ReplacementRule = sent('ReplacementRule', 'A rule as it is read, or as a create takes it.', {
  ...RuleInput.properties,
  destination_port: Type.Optional(
    Type.Union([RuleInput.properties.destination_port, Port], {
      description:
        'As it is read (a number), as a create takes it, or `SERVER:PORT`. Null: any port.',
    }),
  ),
  named_port: Type.Optional(
    sentTextOrNull({
      maxLength: MAX_PORT_NAME,
      description: `${PORT_NAME} The port that it has now is the port of the rule, whatever destination_port says.`,
      examples: ['Survival:query'],
    }),
  ),
  ...ruleMarks,
  ...readOnly,
  id: Type.Optional(id(IGNORED)),
  destination_ip: Type.Optional(sentText({ maxLength: 50, ...IGNORED })),
});

const ReplacementFilter = sent(
  'ReplacementFilter',
  'A filter as it is read, or as a create takes it.',
  {
    ...FilterInput.properties,
    port: Type.Union([FilterInput.properties.port, Port], {
      description: 'As it is read (a number), or as a create takes it.',
    }),
    settings: Type.Optional(
      orNull(FilterSettingsInput, {
        description: 'Null or absent: those of the equal filter that is there, or else none.',
      }),
    ),
    ...readOnly,
    key: Type.Optional(sentText({ maxLength: 255, ...IGNORED })),
    name: Type.Optional(sentText({ maxLength: 255, ...IGNORED })),
  },
);

export const AddressReplacement = sent('AddressReplacement', {
  ip: Type.Optional(sentText({ maxLength: 50, ...IGNORED })),
  default: Type.Optional(sentText({ maxLength: 20, ...IGNORED })),
  rules: Type.Array(ReplacementRule, {
    maxItems: MAX_RULES,
    description: 'All rules that the address shall have of its own; [] for none.',
  }),
  filters: Type.Array(ReplacementFilter, {
    maxItems: MAX_FILTERS,
    description: 'All filters that the address shall have of its own; [] for none.',
  }),
});
export const ObjectNames = object('ObjectNames', {
  rules: Type.Array(id(), { description: 'Ids of rules.' }),
  filters: Type.Array(Type.String(), { description: 'Keys of filters.' }),
});

/** Tabs and line ends are allowed, and no other control characters. */
export const noteText = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  maxLength: 2000,
  'x-multiline': true,
  description: 'Plain text, of one or more lines; null: none.',
});
export const tags = Type.Array(sentText({ minLength: 1, maxLength: 50 }), {
  maxItems: 20,
  description: 'In the order given, each once.',
});

const NotedRule = sent('NotedRule', 'A rule to create, with its note and tags.', {
  ...RuleInput.properties,
  ...ruleMarks,
  note: Type.Optional(noteText),
  tags: Type.Optional(tags),
});

export const RuleBatch = sent('RuleBatch', {
  rules: Type.Array(NotedRule, {
    minItems: 1,
    maxItems: 1000,
    description: 'Created all together, or none of them.',
  }),
});

export const AddressReplaced = object('AddressReplaced', 'The difference that a write made.', {
  data: Type.Object({
    created: ObjectNames,
    deleted: ObjectNames,
    unchanged: natural({ description: 'Own rules and filters that stayed as they were.' }),
  }),
  message: Type.String({ description: 'What was accepted, and how long it propagates.' }),
});

const DEFAULT_NOTES = {
  description: 'What happens to packets that no rule matches; null: as of a containing prefix.',
};

export const DefaultChange = sent('DefaultChange', {
  target: Type.String({
    maxLength: 50,
    description: 'A held address, or a prefix inside a holding.',
    examples: ['203.0.113.10', '203.0.113.0/24'],
  }),
  default: choiceOrNull(['accept', 'deny'], DEFAULT_NOTES),
});

export const DefaultChanged = object('DefaultChanged', {
  data: Type.Object({
    target: Type.String({ description: 'Canonical; an address without its length.' }),
    default: choiceOrNull(['accept', 'deny'], DEFAULT_NOTES),
  }),
  message: Type.String({ description: 'What was accepted, and how long it propagates.' }),
});

const octet = (description: string) =>
  Type.Optional(integer({ minimum: 0, maximum: 255, description }));
const packetPort = (description: string) =>
  Type.Optional(integer({ minimum: 0, maximum: 65_535, description }));

const PACKET_PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp'] as const;
const POLICY_VIEWS = ['accepted', 'live'] as const;

export const ExplainRequest = sent('ExplainRequest', 'A packet to the address of the path.', {
  protocol: Type.Union([choice(PACKET_PROTOCOLS), integer({ minimum: 0, maximum: 255 })], {
    description: 'By name, or an IP protocol number. `icmp` is ICMPv6 for an IPv6 address.',
    examples: ['udp', 132],
  }),
  source_ip: sentText({
    minLength: 2,
    maxLength: 64,
    description: 'Where the packet comes from: an address of the same family.',
    examples: ['198.51.100.7'],
  }),
  source_port: packetPort('With tcp and udp; only mitigations look at it.'),
  destination_port: Type.Optional(
    Type.Union(
      [
        integer({ minimum: 0, maximum: 65_535 }),
        sentText({ minLength: 3, maxLength: MAX_PORT_NAME }),
      ],
      {
        description: `With tcp and udp, and required there: a port, or its name. ${PORT_NAME}`,
        examples: [27_015, 'Survival:query'],
      },
    ),
  ),
  icmp_type: octet('With icmp; default: an echo request.'),
  icmp_code: octet('With icmp; default 0.'),
  view: Type.Optional(
    choice(POLICY_VIEWS, {
      default: 'accepted',
      description:
        'Judge by what was accepted, or by what is live on every edge: nothing while no edge enforces.',
    }),
  ),
});
const DECIDER_KINDS = [
  'rule',
  'group_rule',
  'server_port',
  'geo_rule',
  'baseline',
  'blocked_source',
  'filter',
  'mitigation',
] as const;

const DecidedBy = object('DecidedBy', 'The object that decided.', {
  kind: openChoice(DECIDER_KINDS),
  id: integerOrNull({ minimum: 1, description: 'Its id; null where it has none to show.' }),
  managed_by_group: orNull(GroupRef, { description: 'The group that it belongs to.' }),
  named_port: namedPort,
});

/** In the order of evaluation. */
export const STAGES = [
  'management',
  'needed-icmp',
  'fragment-limits',
  'return-traffic',
  'mitigations',
  'baseline',
  'blocked-sources',
  'named-allows',
  'geo',
  'rules',
  'default',
  'filters',
] as const;

const decision = {
  verdict: choice(['pass', 'drop']),
  stage: openChoice(STAGES, {
    description:
      'The stage that decided; `default`: no rule matched, so the default of the address did.',
  }),
  decided_by: orNull(DecidedBy, { description: 'Null: no object, the stage itself decided.' }),
  explanation: Type.String({ description: 'The same in words.' }),
} as const;

const KERNEL_STATES = ['undisturbed', 'disturbed', 'unknown'] as const;

const EdgeAnswer = object(
  'EdgeAnswer',
  'What an edge does with the packet, by what its kernel was given.',
  {
    ...decision,
    mode: choice(['enforce', 'observe', 'no_device'], {
      description:
        '`observe`: it drops nothing. `no_device`: neither does it, because no packet can come in by its devices.',
    }),
    generation: natural({ description: 'Of the policy that judged.' }),
    up_to_date: Type.Boolean({
      description: 'Whether it judges by the accepted policy of the address.',
    }),
    kernel: openChoice(KERNEL_STATES, {
      description:
        '`disturbed`: somebody else changed what the edge put into its kernel, and it is not mended yet. `unknown`: the edge cannot look.',
    }),
  },
);

const EdgeVerdict = object('EdgeVerdict', {
  name: Type.String({ description: 'Name of the edge.', examples: ['fra1'] }),
  in_service: Type.Boolean({ description: 'Whether it counts for what is live.' }),
  answer: orNull(EdgeAnswer, { description: 'Null: it did not answer in time.' }),
});

export const Explanation = answer('Explanation', 'What happens to a packet, and why.', {
  ...decision,
  edges: Type.Array(EdgeVerdict, {
    description: 'Every edge that serves the address, asked just now.',
  }),
  differences: Type.Array(Type.String(), {
    description: 'Where edges and what is accepted do not agree, a sentence each.',
  }),
  dropped: Type.Array(DropTotal, {
    maxItems: 20,
    description:
      'What edges dropped of all packets to the address in the last hour, by what dropped and why, largest first: filters too, which no single packet decides.',
  }),
});

const heldSince = timestamp({ description: 'Since when the organisation holds it.' });
const heldUntil = timestampOrNull({ description: 'When the holding ends; null: no end is known.' });

const HeldPrefix = object('HeldPrefix', 'A prefix of the organisation.', {
  prefix: Prefix,
  asn: orNull(Asn),
  service_id: integerOrNull({ minimum: 0, description: 'The service that holds it; null: none.' }),
  since: heldSince,
  until: heldUntil,
});

const HeldAddress = object(
  'HeldAddress',
  'An address of a service, or one with own settings, recent drops or recent attacks.',
  {
    ip: IpAddress,
    service_id: integerOrNull({
      minimum: 0,
      description: 'The service it is assigned to; null: it lies in a held prefix.',
    }),
    service_name: textOrNull({ description: 'The name of that service.' }),
    since: heldSince,
    until: heldUntil,
    rules_count: natural({ description: 'Accepted rules, those of groups included.' }),
    filters_count: natural({ description: 'Accepted filters, those of groups included.' }),
    dropped_packets: natural({
      description:
        'Packets to it that edges dropped in the last hour, as its drops count them: none while edges only observe.',
    }),
  },
);

export const HeldAddresses = object('HeldAddresses', {
  data: Type.Object({
    prefixes: Type.Array(HeldPrefix, { description: 'All of them, on every page.' }),
    addresses: Type.Array(HeldAddress, { description: 'This page, IPv4 first, ascending.' }),
  }),
  links: Type.Object({
    next: textOrNull({ format: 'uri', description: 'The page after; null on the last.' }),
  }),
  meta: Type.Object({
    per_page: integer({ minimum: 1, maximum: 1000 }),
    configured_addresses: Type.Object({
      used: natural({ description: 'Addresses with rules or filters of their own.' }),
      limit: natural({ description: 'How many the organisation may configure.' }),
    }),
  }),
});

export const HeldAddressesQuery = Type.Object(
  {
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

const SampleCount = object('SampleCount', {
  samples: natural({ description: 'Sampled packets.' }),
  sources: natural({ description: 'Addresses that they came from.' }),
});

const PreviewedPort = object(
  'PreviewedPort',
  'What a default of deny would drop, and what rules or filters would let pass.',
  {
    protocol: integer({ minimum: 0, maximum: 255, description: 'Number of the IP protocol.' }),
    port: integerOrNull({ minimum: 0, maximum: 65_535, description: 'Null: it has none.' }),
    dropped: SampleCount,
    passed: SampleCount,
    last_seen_at: timestamp({ description: 'When an edge last reported such a packet.' }),
  },
);

export const DefaultPreview = object('DefaultPreview', {
  data: Type.Object({
    ip: IpAddress,
    default: choice(['accept', 'deny'], { description: 'The default that is accepted now.' }),
    ports: Type.Array(PreviewedPort, { description: 'Most would be dropped first.' }),
  }),
  message: Type.String({ description: 'The same in a sentence, and how far it can be trusted.' }),
  meta: Type.Object({
    from: timestamp({ description: 'The samples are from here on; at most a day.' }),
    to: timestamp(),
    sampled_one_in: natural({
      description:
        'Edges sample packets of connections that were not answered yet, and one of so many others.',
    }),
    samples: natural({ description: 'All that were looked at.' }),
    denied_already: natural({ description: 'Of those, what is dropped now by something else.' }),
    edges: Type.Array(Type.String(), { description: 'The edges that sampled them.' }),
    is_complete: Type.Boolean({ description: 'False: there were more, and these are the most.' }),
  }),
});
