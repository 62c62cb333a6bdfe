import { Type } from 'typebox';
import { COMMON, type Endpoint, RATE_HEADERS, readResponses, refusals } from '../endpoint.ts';
import { IpAddress, natural, object, openChoice, orNull, timestamp } from '../schemas/values.ts';

export const EVENT_KINDS = [
  'write.accepted',
  'write.live',
  'propagation.failed',
  'attack.opened',
  'attack.mitigated',
  'attack.ended',
  'attack.looks_usual',
  'server.state',
  'server.crashed',
  'server.build',
  'gap',
] as const;

const Event = object('Event', {
  id: natural({ description: 'A number of the event; not the id for Last-Event-ID.' }),
  at: timestamp(),
  kind: openChoice(EVENT_KINDS),
  target: Type.String({
    description: 'An address or prefix, the uuid of a server, or such as `group:3`.',
    examples: ['203.0.113.10'],
  }),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What the kind tells besides.',
  }),
});

const CallerView = object('CallerView', 'Who a request comes from, and what it may do.', {
  data: Type.Object({
    organisation: Type.String({ description: 'Its slug.', examples: ['acme'] }),
    organisation_name: Type.String({ examples: ['Acme Hosting'] }),
    key: Type.String({ description: 'The name of the key, or of the person.', examples: ['ci'] }),
    abilities: Type.Array(Type.String(), { examples: [['firewall.read', 'firewall.manage']] }),
    flags: Type.Array(Type.String(), {
      description: 'The areas that the organisation may use by API.',
      examples: [['firewall_api']],
    }),
    prefixes: orNull(Type.Array(Type.String()), {
      description: 'The addresses that it may change; null: all of the organisation.',
    }),
    servers: orNull(Type.Array(Type.String()), {
      description: 'The game servers that it sees; null: all of the organisation.',
    }),
    requests_per_minute: natural({ description: 'The limit of the key.' }),
    source_ip: orNull(IpAddress, {
      description: 'Where the request came from, as control sees it.',
    }),
  }),
});

/** Who calls, and the stream of what happens. */
export const X1_EVENT_ENDPOINTS = [
  {
    tag: 'Organisation',
    flag: null,
    operationId: 'readCaller',
    method: 'GET',
    path: '/caller',
    ability: null,
    write: false,
    summary: 'Read what this key is and may do',
    description:
      'The organisation and the rights of the key that the request has, and the address that it came from.',
    requestHeaders: ['If-None-Match'],
    responses: readResponses([], {
      description: 'The caller.',
      schema: CallerView,
      example: {
        data: {
          organisation: 'acme',
          organisation_name: 'Acme Hosting',
          key: 'ci',
          abilities: ['firewall.manage', 'firewall.read'],
          flags: ['firewall_api'],
          prefixes: null,
          servers: null,
          requests_per_minute: 600,
          source_ip: '198.51.100.7',
        },
      },
    }),
  },
  {
    tag: 'Organisation',
    flag: null,
    operationId: 'streamEvents',
    method: 'GET',
    path: '/events',
    ability: null,
    write: false,
    stream: true,
    requestHeaders: ['Last-Event-ID'],
    summary: 'Follow what happens',
    description:
      'Server-sent events (`text/event-stream`), for as long as the connection lives: writes accepted and live, attacks opened, mitigated and ended, or that look like usual traffic, servers that change their state or crash, edges that could not apply an address. Each needs the ability of its area, and what the key does not reach is left out. The field `data` of an event is an `Event`. With `Last-Event-ID` the stream goes on after that event; seven days are kept, and an event `gap` says that older ones are gone. Without it the stream begins now. A comment is sent every 15 seconds. A key or person has at most 20 streams at a time. A stream ends when its caller leaves 256 kB unread, and when the key, session or role that opened it ends or changes.',
    responses: {
      ...refusals(COMMON),
      200: {
        description: 'The stream.',
        schema: Event,
        mediaType: 'text/event-stream',
        headers: RATE_HEADERS,
      },
    },
  },
] as const satisfies readonly Endpoint[];
