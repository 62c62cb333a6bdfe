import { Type } from 'typebox';
import {
  CLOSED,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  object,
  openChoice,
  Prefix,
  sentText,
  textOrNull,
  timestamp,
} from './values.ts';

export const DropsQuery = Type.Object(
  {
    from: Type.Optional(
      timestamp({ description: 'Begin of the window; default: 24 hours before `to`.' }),
    ),
    to: Type.Optional(timestamp({ description: 'End of the window; default: now.' })),
    edge: Type.Optional(
      sentText({
        minLength: 1,
        maxLength: 63,
        description: 'Only what this edge dropped. An unknown name drops nothing.',
        examples: ['fra1'],
      }),
    ),
  },
  CLOSED,
);

/** The reasons of a stage. */
export const DROP_STAGES = ['fragment-limits', 'mitigations', 'policy', 'filters'] as const;
export const DROPPED_BY = ['xdp', 'nftables'] as const;

const cause = {
  stage: openChoice(DROP_STAGES, {
    description:
      'What of the firewall dropped. `policy`: the operator’s baseline, geo rules and rules together.',
  }),
  reason: Type.String({
    description:
      'Why, as a slug, such as `denied`, `geo`, `rate` or `unvalidated`. New ones may be added: show what is there.',
    examples: ['denied'],
  }),
  by: openChoice(DROPPED_BY, {
    description:
      '`xdp`: early, before the network stack, by XDP or at tc ingress. `nftables`: in the packet filter of the edge.',
  }),
} as const;

const packets = natural({ description: 'Packets dropped.' });
const bytes = natural({ description: 'Their bytes, from the IP header on.' });

export const DropTotal = object('DropTotal', { ...cause, packets, bytes });

const PrefixDropTotal = object('PrefixDropTotal', { prefix: Prefix, ...cause, packets, bytes });

const DropMinute = object('DropMinute', {
  at: timestamp({ description: 'Begin of the minute in which the edge counted.' }),
  packets,
  bytes,
});

const DroppedPacket = object(
  'DroppedPacket',
  'One packet that an edge dropped. Source addresses may be forged.',
  {
    at: timestamp(),
    edge: Type.String({ description: 'The edge that dropped it.', examples: ['fra1'] }),
    ...cause,
    source_ip: IpAddress,
    source_port: integerOrNull({ minimum: 0, maximum: 65_535 }),
    destination_port: integerOrNull({ minimum: 0, maximum: 65_535 }),
    protocol: integer({ minimum: 0, maximum: 255, description: 'Number of the IP protocol.' }),
    length: natural({ description: 'Bytes from the IP header on.' }),
    device: textOrNull({ description: 'Where it came in; null: not known.', examples: ['eth0'] }),
  },
);

export const Drops = object('Drops', 'What edges dropped of the packets to an address.', {
  data: Type.Object({
    ip: IpAddress,
    observed: Type.Object(
      { packets: natural(), bytes: natural() },
      {
        description:
          'What passed, and mitigations would have dropped that only observe (`mitigation: observe`). Part of no other number here.',
      },
    ),
    filters: Type.Object(
      {
        greeted: natural({ description: 'Packets of new sources that passed.' }),
        validated: natural({
          description:
            'Sources that a reply of the server validated, or that completed a handshake.',
        }),
      },
      { description: 'What filters let through. Part of no other number here.' },
    ),
    totals: Type.Array(DropTotal, { description: 'By what dropped and why, largest first.' }),
    prefixes: Type.Array(PrefixDropTotal, {
      description:
        'What was dropped by the policies of prefixes around the address, for any address in them: the early drop counts no finer there. Not part of any other number here.',
    }),
    series: Type.Array(DropMinute, {
      description: 'Minutes in which something was dropped, oldest first.',
    }),
    samples: Type.Array(DroppedPacket, {
      maxItems: 100,
      description: 'A sample of the packets, newest first.',
    }),
  }),
  meta: Type.Object({
    from: timestamp({ description: 'The window that was used.' }),
    to: timestamp(),
    from_clamped: Type.Boolean({
      description:
        'Whether `from` was raised to the oldest moment that is kept, or to when the address became the caller’s.',
    }),
    packets: natural({ description: 'All packets dropped in the window.' }),
    bytes: natural({ description: 'All bytes dropped in the window.' }),
    edges: Type.Array(Type.String(), { description: 'Names of the edges that dropped them.' }),
  }),
});
