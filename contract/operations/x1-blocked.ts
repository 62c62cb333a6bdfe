import { Type } from 'typebox';
import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
  WITH_KEY,
} from '../endpoint.ts';
import {
  id,
  integer,
  natural,
  object,
  sent,
  sentText,
  sentTextOrNull,
  textOrNull,
  timestamp,
  timestampOrNull,
} from '../schemas/values.ts';
import { MAX_BLOCKED } from '../schemas/declared/blocked-list.ts';
import { FIREWALL } from './firewall.ts';

const MAX_PER_CALL = 1_000;
const MAX_NOTE = 200;

const TARGET =
  'A held address or a prefix inside a holding. Left out or null: everything that the organisation holds, also later.';
const sources = Type.Array(
  sentText({
    minLength: 2,
    maxLength: 64,
    description: 'An address or a CIDR block without host bits.',
    examples: ['198.51.100.7', '198.51.100.0/24'],
  }),
  { minItems: 1, maxItems: MAX_PER_CALL },
);
const target = Type.Optional(
  sentTextOrNull({ maxLength: 50, description: TARGET, examples: ['203.0.113.10'] }),
);

const BlockedSource = object('BlockedSource', 'A network whose packets are dropped.', {
  id: id(),
  source: Type.String({
    description: 'Canonical; a single address without its length.',
    examples: ['198.51.100.7'],
  }),
  target: textOrNull({
    description: 'The address or prefix; null: everything that the organisation holds.',
    examples: ['203.0.113.10'],
  }),
  note: Type.String({ examples: ['scans'] }),
  created_at: timestamp(),
  expires_at: timestampOrNull({ description: 'When it ends by itself; null: never.' }),
});

const BlockedSources = object('BlockedSources', {
  data: Type.Array(BlockedSource),
  meta: Type.Object({
    count: natural({ description: 'The number that the organisation has in all.' }),
    limit: natural({ description: 'The number that it may have.' }),
  }),
  links: Type.Object({ next: textOrNull({ description: 'The next page; null: the last.' }) }),
});

const BlockedQuery = Type.Object(
  {
    after: Type.Optional(id({ description: 'Only those with a larger `id`.' })),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 1_000, default: 1_000 })),
  },
  { additionalProperties: false },
);

const BlockRequest = sent('BlockRequest', 'Networks to block.', {
  sources,
  target,
  note: Type.Optional(sentText({ maxLength: MAX_NOTE, examples: ['scans'] })),
  expires_at: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When they end by themselves. Left out or null: never.',
      examples: ['2026-11-21T02:00:00+00:00'],
    }),
  ),
});
const UnblockRequest = sent('UnblockRequest', 'Networks to unblock, as they were blocked.', {
  sources,
  target,
});

const StillBlocked = object('StillBlocked', 'A source that is still blocked elsewhere.', {
  source: Type.String({ description: 'As sent.', examples: ['198.51.100.7'] }),
  by: Type.String({ description: 'The blocked network.', examples: ['198.51.100.0/24'] }),
  target: textOrNull({ description: TARGET, examples: ['203.0.113.10'] }),
});

const changed = (title: string, description: string) =>
  object(title, {
    data: Type.Object({
      target: textOrNull({ description: TARGET }),
      changed: natural({ description }),
      unchanged: natural({ description: 'How many of the sent ones were so already.' }),
      still_blocked: Type.Array(StillBlocked, {
        description: 'Where sources of an unblocking are still blocked, the first 20.',
      }),
    }),
    message: Type.String({ description: 'What was accepted, and how long it propagates.' }),
  });

const common = { tag: 'Firewall', flag: 'firewall_api', path: '/firewall/blocked' } as const;
const write = {
  ...common,
  ability: 'firewall.manage',
  write: true,
  requestHeaders: ['Idempotency-Key'],
  idempotent: true,
} as const;
const WRITE_REFUSALS = [...FIREWALL, 'limit_exceeded', 'managed_by_fleet_file'] as const;
const HEADERS = [...RATE_HEADERS, 'Portcullis-Generation', 'Idempotency-Replayed?'] as const;
const example = (message: string) => ({
  data: { target: '203.0.113.10', changed: 1, unchanged: 0, still_blocked: [] },
  message,
});

/** The list of blocked sources: a stage of its own before every allow rule. */
export const X1_BLOCKED_ENDPOINTS = [
  {
    ...common,
    operationId: 'listBlockedSources',
    method: 'GET',
    ability: 'firewall.read',
    write: false,
    requestHeaders: ['If-None-Match'],
    summary: 'List blocked sources',
    description: `The networks whose packets are dropped whatever an allow rule says, at most ${MAX_BLOCKED} of an organisation, in the order of their ids.`,
    query: BlockedQuery,
    responses: readResponses(['area_not_enabled'], {
      description: 'A page of them.',
      schema: BlockedSources,
      example: {
        data: [
          {
            id: 12,
            source: '198.51.100.7',
            target: '203.0.113.10',
            note: 'scans',
            created_at: '2026-11-21T01:00:00+00:00',
            expires_at: '2026-11-21T02:00:00+00:00',
          },
        ],
        meta: { count: 1, limit: MAX_BLOCKED },
        links: { next: null },
      },
    }),
  },
  {
    ...write,
    operationId: 'blockSources',
    method: 'POST',
    summary: 'Block sources',
    description:
      'Drops every packet from these networks to an address, a prefix or everything held, before any allow rule is read. Answers to connections that the protected host opens and management ports pass as before. A source that is blocked there already gets the note and the end of this request.',
    body: BlockRequest,
    bodyExamples: { one: { sources: ['198.51.100.7'], target: '203.0.113.10', note: 'scans' } },
    responses: {
      ...refusals(COMMON, WITH_BODY, WITH_KEY, WRITE_REFUSALS),
      200: {
        description: 'Accepted. Not live everywhere yet.',
        schema: changed('SourcesBlocked', 'How many were blocked, or got another note or end.'),
        headers: HEADERS,
        example: example('1 source was blocked on 203.0.113.10.'),
      },
    },
  },
  {
    ...write,
    operationId: 'unblockSources',
    method: 'DELETE',
    summary: 'Unblock sources',
    description: 'Takes networks off the list, each as it was blocked: with the same target.',
    body: UnblockRequest,
    bodyExamples: { one: { sources: ['198.51.100.7'], target: '203.0.113.10' } },
    responses: {
      ...refusals(COMMON, WITH_BODY, WITH_KEY, WRITE_REFUSALS),
      200: {
        description: 'Accepted. Not live everywhere yet.',
        schema: changed('SourcesUnblocked', 'How many were unblocked.'),
        headers: HEADERS,
        example: example('1 source was unblocked on 203.0.113.10.'),
      },
    },
  },
] as const satisfies readonly Endpoint[];
