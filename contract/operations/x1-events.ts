import { Type } from 'typebox';
import { COMMON, type Endpoint, RATE_HEADERS, refusals } from '../endpoint.ts';
import { natural, object, openChoice, timestamp } from '../schemas/values.ts';

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

/** The stream of what happens. */
export const X1_EVENT_ENDPOINTS = [
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
