import { Type } from 'typebox';
import {
  addressMetaFields,
  filterFields,
  FilterInput,
  GroupRef,
  ruleFields,
  RuleInput,
} from './firewall.ts';
import { FilterSettings, FilterSettingsInput } from './x1-filter-settings.ts';
import {
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

export const DefaultAction = choice(['accept', 'deny'], {
  title: 'DefaultAction',
  description: 'What happens to a packet that no rule matches.',
});

/** Longer than any name of a server and its port. */
export const MAX_PORT_NAME = 300;
export const PORT_NAME =
  'A port of a game server as `SERVER:PORT`: the name of the server or its uuid, and the name of the port; `primary` is the first one.';

export const namedPort = textOrNull({
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

const MAX_NAMED_SOURCES = 100;

const AlsoDrops = object(
  'AlsoDrops',
  'What drops packets to the address beside its rules, as far as is accepted.',
  {
    blocked_sources: Type.Array(
      object('BlockedSourcesOf', 'Blocked sources of one target.', {
        target: textOrNull({
          description: 'An address or a prefix; null: everything that the organisation holds.',
          examples: ['203.0.113.10'],
        }),
        count: natural({ description: 'Sources that are blocked on it.' }),
        sources: Type.Array(Type.String({ examples: ['192.0.2.7'] }), {
          maxItems: MAX_NAMED_SOURCES,
          description: 'The first of them; `listBlockedSources` has all.',
        }),
      }),
      { description: 'Read before every allow rule.' },
    ),
    geo_rules: Type.Array(
      object('GeoRuleOf', 'A geo rule that applies to the address.', {
        id: id(),
        action: openChoice(['deny', 'only'], {
          description: '`deny` drops what it lists, `only` everything else.',
        }),
        countries: Type.Array(Type.String({ examples: ['DE'] })),
        asns: Type.Array(Asn),
      }),
      { description: 'Read before allow rules without a source.' },
    ),
    baseline_rules: Type.Array(
      object('BaselineRuleOf', "A rule of the operator on the address's prefix.", {
        id: id(),
        action: openChoice(['allow', 'deny']),
        protocol: Type.String({ examples: ['udp'] }),
        source_ip: textOrNull({ description: 'Null: any.' }),
        destination_port: orNull(Port, { description: 'Null: any.' }),
      }),
      { description: 'Read before everything else.' },
    ),
  },
);

const PropagationTime = object(
  'PropagationTime',
  'How long it takes here from the acceptance of a change until every edge in service has it.',
  {
    measured: orNull(
      object('MeasuredPropagation', {
        samples: natural({ description: 'The last changes, at most 100.' }),
        median_ms: natural(),
        p95_ms: natural({ description: 'Of 95 of 100 changes.' }),
      }),
      { description: 'Null: no change has become live yet.' },
    ),
    text: Type.String({ description: 'The same in words.' }),
  },
);

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
      also_drops: AlsoDrops,
      propagation: PropagationTime,
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

/** The marks of a rule of an address. */
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
  default: Type.Optional(
    sentText({
      maxLength: 20,
      description:
        'Ignored, so that a read can be sent back. A dry run evaluates its notes under this default.',
    }),
  ),
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

export const ReplaceQuery = Type.Object(
  {
    dry_run: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Answer the difference that the request would make, and change nothing.',
      }),
    ),
  },
  CLOSED,
);

const DescribedChange = object(
  'DescribedChange',
  'A change of rules that differ only in their ports, or of filters of one type.',
  {
    operation: choice(['add', 'remove', 'change']),
    effect: choice(['opens', 'closes', 'filters', 'marks'], {
      description: '`marks`: the ref, the end or the note of a rule alone, which no packet meets.',
    }),
    text: Type.String({ description: 'The object as one can paste it, and what to know of it.' }),
    rule: orNull(
      object('DescribedRule', {
        action: choice(['allow', 'deny']),
        protocol: Type.String(),
        destination_port: textOrNull({
          description: 'A port expression or `SERVER:PORT`; null: any.',
        }),
        source_ip: textOrNull({ description: 'Null: any.' }),
        ref: textOrNull(),
        expires_at: timestampOrNull(),
      }),
      { description: 'Null: it is a filter.' },
    ),
    filter: orNull(
      object('DescribedFilter', {
        type: Type.String(),
        port: Type.String({ description: 'A port expression.' }),
      }),
      { description: 'Null: it is a rule.' },
    ),
  },
);

const AddressDifference = object(
  'AddressDifference',
  'Numbers of own rules and filters, and what happens to them in words. A filter that gets other settings is changed.',
  {
    created: natural(),
    deleted: natural(),
    changed: natural({
      description:
        'Rules that stay and get another ref or end, and filters that get other settings.',
    }),
    unchanged: natural(),
    changes: Type.Array(DescribedChange),
    notes: Type.Array(Type.String(), { description: 'New rules that change no verdict, and why.' }),
  },
);

export const AddressReplaced = object('AddressReplaced', 'The difference that a write made.', {
  data: Type.Object({
    created: ObjectNames,
    deleted: ObjectNames,
    unchanged: natural({ description: 'Own rules and filters that stayed as they were.' }),
    difference: AddressDifference,
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
