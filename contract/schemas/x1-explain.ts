import { Type } from 'typebox';
import { GroupRef } from './firewall.ts';
import { DropTotal } from './x1-drops.ts';
import { AddressReplacement, MAX_PORT_NAME, namedPort, PORT_NAME } from './x1-firewall.ts';
import {
  answer,
  choice,
  integer,
  integerOrNull,
  natural,
  object,
  openChoice,
  orNull,
  sent,
  sentText,
  sentTextOrNull,
} from './values.ts';

const octet = (description: string) =>
  Type.Optional(integer({ minimum: 0, maximum: 255, description }));
const packetPort = (description: string) =>
  Type.Optional(integer({ minimum: 0, maximum: 65_535, description }));

const PACKET_PROTOCOLS = ['tcp', 'udp', 'icmp', 'gre', 'esp'] as const;
const POLICY_VIEWS = ['accepted', 'live'] as const;

/** Members of a replacement, with what other operations set. */
const ExplainedChange = sent('ExplainedChange', 'A change of the address that is not made.', {
  rules: AddressReplacement.properties.rules,
  filters: AddressReplacement.properties.filters,
  default: Type.Optional(choice(['accept', 'deny'])),
  blocked: Type.Optional(
    Type.Array(sentText({ maxLength: 64, examples: ['192.0.2.7'] }), {
      maxItems: 10_000,
      description: 'All sources that shall be blocked on this address itself.',
    }),
  ),
});

export const ExplainRequest = sent('ExplainRequest', 'A packet to the address of the path.', {
  protocol: Type.Union([choice(PACKET_PROTOCOLS), integer({ minimum: 0, maximum: 255 })], {
    description: 'By name, or an IP protocol number. `icmp` is ICMPv6 for an IPv6 address.',
    examples: ['udp', 132],
  }),
  source_ip: Type.Optional(
    sentTextOrNull({
      minLength: 2,
      maxLength: 64,
      description:
        'Where the packet comes from: an address of the same family. Left out: from anywhere; the answer says in `open_to` from where it passes, and no edge is asked.',
      examples: ['198.51.100.7'],
    }),
  ),
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
        'Evaluate what was accepted, or what is live on every edge: nothing while no edge enforces.',
    }),
  ),
  change: Type.Optional(
    orNull(ExplainedChange, {
      description:
        'Evaluate what is accepted as this would change it; nothing is written, and what would refuse the change refuses it here. No edge is asked.',
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
    generation: natural({ description: 'The generation of the policy that was evaluated.' }),
    up_to_date: Type.Boolean({
      description: 'Whether it evaluates the accepted policy of the address.',
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

const OpenTo = object('OpenTo', 'From where packets to a port pass, and by what.', {
  to: openChoice(['everyone', 'most', 'some', 'nobody'], {
    description:
      '`most`: from more than half of all addresses. `some`: from fewer. Mitigations, blocked sources, geo rules and ports of running servers count.',
  }),
  explanation: Type.String({
    description: 'The same in words.',
    examples: [
      'Open to most sources: no rule matches, and the default of this address is accept. Closed to others: the list of blocked sources of the organisation.',
    ],
  }),
  decisions: Type.Array(
    object('OpenToDecision', {
      ...decision,
      source_ip: Type.String({ description: 'One of the sources that get this verdict.' }),
    }),
    { description: 'Each verdict with the stage that gives it, that of most sources first.' },
  ),
  filters: Type.Array(Type.String({ examples: ['minecraft-java'] }), {
    description: 'Filters of the port, which then look at what passes.',
  }),
  propagation: openChoice(['live', 'pending', 'unenforced'], {
    description:
      '`pending`: on an edge it is something else yet. `unenforced`: no edge enforces, so every packet passes.',
  }),
});

export const Explanation = answer('Explanation', 'What happens to a packet, and why.', {
  ...decision,
  open_to: orNull(OpenTo, { description: 'Of a request without `source_ip`; null of others.' }),
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
