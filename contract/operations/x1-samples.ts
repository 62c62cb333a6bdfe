import { Type } from 'typebox';
import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
} from '../endpoint.ts';
import { FilterInput, RuleInput } from '../schemas/firewall.ts';
import {
  choice,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  object,
  sent,
  timestamp,
} from '../schemas/values.ts';
import { ADDRESS_PARAMS, FIREWALL, X1_READ_HEADERS } from './firewall.ts';

const meta = {
  from: timestamp({ description: 'The samples are from here on; at most a day.' }),
  to: timestamp(),
  sampled_one_in: natural({
    description:
      'Edges sample packets of connections that were not answered yet, and one in this number of the others.',
  }),
  edges: Type.Array(Type.String(), { description: 'The edges that sampled them.' }),
  is_complete: Type.Boolean({ description: 'False: there were more, and these are the most.' }),
};
const where = {
  protocol: integer({ minimum: 0, maximum: 255, description: 'Number of the IP protocol.' }),
  port: integerOrNull({ minimum: 0, maximum: 65_535, description: 'Null: it has none.' }),
};

const Traffic = object('Traffic', {
  data: Type.Object({
    ip: IpAddress,
    ports: Type.Array(
      object('PortTraffic', {
        ...where,
        samples: natural({ description: 'Sampled packets.' }),
        sources: natural({ description: 'Addresses that they came from.' }),
        last_seen_at: timestamp({ description: 'When an edge last reported such a packet.' }),
      }),
      { description: 'Most samples first.' },
    ),
  }),
  meta: Type.Object(meta),
});

const DryRunInput = sent('DryRunInput', 'What would be added to the address.', {
  rules: Type.Optional(
    Type.Array(RuleInput, { maxItems: 100, description: 'As they are created.' }),
  ),
  filters: Type.Optional(
    Type.Array(FilterInput, { maxItems: 25, description: 'As they are created.' }),
  ),
  default: Type.Optional(choice(['accept', 'deny'])),
});

const Affected = object('Affected', 'Samples that a change concerns.', {
  samples: natural(),
  sources: natural({ description: 'Addresses that they came from.' }),
  top: Type.Array(
    object('AffectedSource', {
      source_ip: IpAddress,
      ...where,
      samples: natural(),
      last_seen_at: timestamp({ description: 'Of late: it may be in use now.' }),
    }),
    { description: 'At most 20, most samples first.' },
  ),
});

const DryRun = object('DryRun', {
  data: Type.Object({
    ip: IpAddress,
    dropped: Affected,
    reconnecting: Affected,
  }),
  message: Type.String({ description: 'The same in a sentence.' }),
  meta: Type.Object({ ...meta, samples: natural({ description: 'All that were looked at.' }) }),
});

const SOURCE = {
  source_ip: '198.51.100.7',
  protocol: 17,
  port: 27_015,
  samples: 52,
  last_seen_at: '2026-11-21T01:12:05+00:00',
};
const META = {
  from: '2026-11-20T01:13:00+00:00',
  to: '2026-11-21T01:13:00+00:00',
  sampled_one_in: 64,
  edges: ['fra1'],
  is_complete: true,
};
const common = { tag: 'Firewall', flag: 'firewall_api', params: ADDRESS_PARAMS } as const;

/** Rows of what edges sampled of the traffic that passed. */
export const X1_SAMPLE_ENDPOINTS = [
  {
    ...common,
    operationId: 'readTraffic',
    method: 'GET',
    path: '/firewall/ips/{ip}/traffic',
    ability: 'firewall.read',
    write: false,
    requestHeaders: ['If-None-Match'],
    summary: 'See what passes',
    description:
      'Packets to the address that passed in the last day, by protocol and port: what a filter would meet. These are samples, not counts.',
    responses: readResponses(FIREWALL, {
      description: 'The samples.',
      schema: Traffic,
      headers: X1_READ_HEADERS,
      example: {
        data: {
          ip: '203.0.113.10',
          ports: [
            {
              protocol: 17,
              port: 27_015,
              samples: 52,
              sources: 3,
              last_seen_at: SOURCE.last_seen_at,
            },
          ],
        },
        meta: META,
      },
    }),
  },
  {
    ...common,
    operationId: 'dryRun',
    method: 'POST',
    path: '/firewall/ips/{ip}/dry-run',
    ability: 'firewall.manage',
    write: false,
    summary: 'Try rules, filters or a default',
    description:
      'What adding them would do to the packets that edges sampled in the last day: which would be dropped, and which would meet a new filter, so that the client must reconnect. Whatever would refuse the change refuses this. Nothing is changed.',
    body: DryRunInput,
    bodyExamples: {
      rule: {
        rules: [
          {
            action: 'deny',
            protocol: 'udp',
            destination_port: '27015',
            source_ip: '198.51.100.0/24',
          },
        ],
      },
      filter: { filters: [{ type: 'source', port: '27015' }] },
      default: { default: 'deny' },
    },
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, [
        'rule_exists',
        'filter_exists',
        'filter_unavailable',
        'limit_exceeded',
      ]),
      200: {
        description: 'What it would do.',
        schema: DryRun,
        headers: RATE_HEADERS,
        example: {
          data: {
            ip: '203.0.113.10',
            dropped: { samples: 52, sources: 1, top: [SOURCE] },
            reconnecting: { samples: 0, sources: 0, top: [] },
          },
          message:
            'It would drop 52 samples from 1 source (198.51.100.7 to udp 27015), of 812 sampled packets of the last day. Nothing was changed.',
          meta: { ...META, samples: 812 },
        },
      },
    },
  },
] as const satisfies readonly Endpoint[];
