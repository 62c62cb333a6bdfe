import { Type } from 'typebox';
import { addressMetaFields, filterFields, GroupRef, ruleFields } from './firewall.ts';
import { FilterInput, RuleInput } from './firewall-writes.ts';
import {
  choice,
  choiceOrNull,
  CLOSED,
  id,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  openChoice,
  orNull,
  Port,
  sentText,
  sentTextOrNull,
  textOrNull,
} from './values.ts';

export const PROPAGATION_STATES = ['live', 'pending', 'going'] as const;

const PropagationState = openChoice(PROPAGATION_STATES, {
  title: 'PropagationState',
  description:
    '`live`: on every edge in service. `pending`: accepted, not everywhere yet. `going`: deleted, still somewhere.',
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

const AcceptedRule = Type.Object(
  { ...ruleFields, named_port: namedPort, status: PropagationState },
  { title: 'AcceptedRule', description: 'A rule as accepted, and how far it has come.' },
);

const AcceptedFilter = Type.Object(
  { ...filterFields, status: PropagationState },
  { title: 'AcceptedFilter', description: 'A filter as accepted, and how far it has come.' },
);

const EdgeProgress = Type.Object(
  {
    name: Type.String({ description: 'Name of the edge.', examples: ['fra1'] }),
    generation: natural({ description: 'The newest generation of this address that it has.' }),
    in_service: Type.Boolean({ description: 'Whether it counts for what is live.' }),
    refused: textOrNull({
      description: 'Why it could not apply this address; null: it applied it.',
    }),
  },
  { title: 'EdgeProgress', description: 'How far an edge that serves the address has come.' },
);

export const AcceptedAddress = Type.Object(
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
      live_generation: natural({ description: 'The newest that every edge serving it has.' }),
      edges: Type.Array(EdgeProgress),
    }),
  },
  { title: 'AcceptedAddress', description: 'What was accepted for an address, object by object.' },
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

const ReplacementRule = Type.Object(
  {
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
    ...readOnly,
    id: Type.Optional(id(IGNORED)),
    destination_ip: Type.Optional(sentText({ maxLength: 50, ...IGNORED })),
  },
  {
    ...CLOSED,
    title: 'ReplacementRule',
    description: 'A rule as it is read, or as a create takes it.',
  },
);

const ReplacementFilter = Type.Object(
  {
    ...FilterInput.properties,
    port: Type.Union([FilterInput.properties.port, Port], {
      description: 'As it is read (a number), or as a create takes it.',
    }),
    ...readOnly,
    key: Type.Optional(sentText({ maxLength: 255, ...IGNORED })),
    name: Type.Optional(sentText({ maxLength: 255, ...IGNORED })),
  },
  {
    ...CLOSED,
    title: 'ReplacementFilter',
    description: 'A filter as it is read, or as a create takes it.',
  },
);

export const AddressReplacement = Type.Object(
  {
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
  },
  { ...CLOSED, title: 'AddressReplacement' },
);
export const ObjectNames = Type.Object(
  {
    rules: Type.Array(id(), { description: 'Ids of rules.' }),
    filters: Type.Array(Type.String(), { description: 'Keys of filters.' }),
  },
  { title: 'ObjectNames' },
);

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

const NotedRule = Type.Object(
  {
    ...RuleInput.properties,
    note: Type.Optional(noteText),
    tags: Type.Optional(tags),
  },
  { ...CLOSED, title: 'NotedRule', description: 'A rule to create, with its note and tags.' },
);

export const RuleBatch = Type.Object(
  {
    rules: Type.Array(NotedRule, {
      minItems: 1,
      maxItems: 1000,
      description: 'Created all together, or none of them.',
    }),
  },
  { ...CLOSED, title: 'RuleBatch' },
);

export const AddressReplaced = Type.Object(
  {
    data: Type.Object({
      created: ObjectNames,
      deleted: ObjectNames,
      unchanged: natural({ description: 'Own rules and filters that stayed as they were.' }),
    }),
    message: Type.String({ description: 'What was accepted, and how long it propagates.' }),
  },
  { title: 'AddressReplaced', description: 'The difference that a write made.' },
);

const DEFAULT_NOTES = {
  description: 'What happens to packets that no rule matches; null: as of a containing prefix.',
};

export const DefaultChange = Type.Object(
  {
    target: Type.String({
      maxLength: 50,
      description: 'A held address, or a prefix inside a holding.',
      examples: ['203.0.113.10', '203.0.113.0/24'],
    }),
    default: choiceOrNull(['accept', 'deny'], DEFAULT_NOTES),
  },
  { ...CLOSED, title: 'DefaultChange' },
);

export const DefaultChanged = Type.Object(
  {
    data: Type.Object({
      target: Type.String({ description: 'Canonical; an address without its length.' }),
      default: choiceOrNull(['accept', 'deny'], DEFAULT_NOTES),
    }),
    message: Type.String({ description: 'What was accepted, and how long it propagates.' }),
  },
  { title: 'DefaultChanged' },
);

const octet = (description: string) =>
  Type.Optional(integer({ minimum: 0, maximum: 255, description }));
const packetPort = (description: string) =>
  Type.Optional(integer({ minimum: 0, maximum: 65_535, description }));

export const PACKET_PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp'] as const;
export const POLICY_VIEWS = ['accepted', 'live'] as const;

export const ExplainRequest = Type.Object(
  {
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
        description: 'Judge by what was accepted, or by what is live on every edge.',
      }),
    ),
  },
  { ...CLOSED, title: 'ExplainRequest', description: 'A packet to the address of the path.' },
);
export const DECIDER_KINDS = [
  'rule',
  'group_rule',
  'server_port',
  'geo_rule',
  'baseline',
  'filter',
  'mitigation',
] as const;

export const DecidedBy = Type.Object(
  {
    kind: openChoice(DECIDER_KINDS),
    id: integerOrNull({ minimum: 1, description: 'Its id; null where it has none to show.' }),
    managed_by_group: orNull(GroupRef, { description: 'The group that it belongs to.' }),
    named_port: namedPort,
  },
  { title: 'DecidedBy', description: 'The object that decided.' },
);

/** In the order of evaluation. */
export const STAGES = [
  'management',
  'needed-icmp',
  'fragment-limits',
  'return-traffic',
  'mitigations',
  'baseline',
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

export const KERNEL_STATES = ['undisturbed', 'disturbed', 'unknown'] as const;

const EdgeAnswer = Type.Object(
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
  {
    title: 'EdgeAnswer',
    description: 'What an edge does with the packet, by what its kernel was given.',
  },
);

const EdgeVerdict = Type.Object(
  {
    name: Type.String({ description: 'Name of the edge.', examples: ['fra1'] }),
    in_service: Type.Boolean({ description: 'Whether it counts for what is live.' }),
    answer: orNull(EdgeAnswer, { description: 'Null: it did not answer in time.' }),
  },
  { title: 'EdgeVerdict' },
);

export const Explanation = Type.Object(
  {
    data: Type.Object({
      ...decision,
      edges: Type.Array(EdgeVerdict, {
        description: 'Every edge that serves the address, asked just now.',
      }),
      differences: Type.Array(Type.String(), {
        description: 'Where edges and what is accepted do not agree, a sentence each.',
      }),
    }),
  },
  { title: 'Explanation', description: 'What happens to a packet, and why.' },
);
