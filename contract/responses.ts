import type { TSchema } from 'typebox';
import { type ProblemCode, PROBLEMS, ProblemSchema } from './problems.ts';
import { Acknowledgement } from './schemas/game-servers.ts';

export interface ResponseRow {
  readonly description: string;
  /** null: no body. */
  readonly schema: TSchema | null;
  readonly contentType: 'application/json' | 'application/problem+json' | null;
  /** Names from `RESPONSE_HEADERS`. */
  readonly headers: readonly ResponseHeader[];
}

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Headers beyond those of HTTP itself, each with its meaning and form. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': { type: 'string', description: 'Leads the operator to the log of this request.' },
  RateLimit: {
    type: 'string',
    description: 'What is left of the budget of the key, and when it is whole again (seconds).',
  },
  'RateLimit-Policy': { type: 'string', description: 'Requests allowed in a window (seconds).' },
  'Retry-After': { type: 'integer', description: 'Seconds to wait.' },
  'WWW-Authenticate': { type: 'string', description: '`Bearer`' },
  ETag: {
    type: 'string',
    description:
      'Changes when the answer does; send it in If-None-Match, or in If-Match of a replacement.',
  },
  'Portcullis-Generation': {
    type: 'integer',
    description: "On a write: the write's own generation. On a read: the live one.",
  },
  'Portcullis-Accepted-Generation': {
    type: 'integer',
    description: 'The newest generation accepted anywhere in the fleet.',
  },
  'Portcullis-Enforcement': {
    type: 'string',
    enum: ['full', 'partial', 'none'],
    description:
      '`partial`: an edge is out of service, or refused the address. `none`: nothing enforces.',
  },
} as const;

export type Responses = Readonly<Record<number, ResponseRow>>;

const ALWAYS = ['X-Request-Id'] as const;
const AUTHENTICATED = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'] as const;
const READ = [
  ...AUTHENTICATED,
  'ETag',
  'Portcullis-Generation',
  'Portcullis-Accepted-Generation',
  'Portcullis-Enforcement',
] as const;
const WRITTEN = [...AUTHENTICATED, 'Portcullis-Generation', 'Portcullis-Enforcement'] as const;

/** Any authenticated request may meet these. */
const COMMON: readonly ProblemCode[] = [
  'unauthenticated',
  'ability_missing',
  'not_found',
  'invalid_request',
  'rate_limited',
  'internal',
  'unavailable',
];
const WITH_BODY: readonly ProblemCode[] = [
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
];

export function answers(
  status: number,
  description: string,
  schema: TSchema,
  kind: 'plain' | 'read' | 'write',
): Responses {
  const headers = kind === 'read' ? READ : kind === 'write' ? WRITTEN : AUTHENTICATED;
  const made: Responses = {
    [status]: { description, schema, contentType: 'application/json', headers },
  };
  if (kind === 'write') return made;
  const unchanged: ResponseRow = {
    description: 'The representation named in If-None-Match is still the current one',
    schema: null,
    contentType: null,
    headers,
  };
  return kind === 'read' ? { ...made, 304: unchanged } : made;
}

/** Problems of an operation: the common ones, those of a body if it takes one, and its own. */
export function refuses(takesBody: boolean, ...own: readonly ProblemCode[]): Responses {
  const codes = [...COMMON, ...(takesBody ? WITH_BODY : []), ...own];
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, named]) => [status, problemRow(status, named)]),
  );
}

/** Refusals of the node, in the acknowledgement envelope, beside the problems that share their status. */
export function acknowledges(status: number, description: string): Responses {
  return {
    [status]: {
      description,
      schema: Acknowledgement,
      contentType: 'application/json',
      headers: AUTHENTICATED,
    },
  };
}

function problemRow(status: number, codes: readonly ProblemCode[]): ResponseRow {
  const headers: ResponseHeader[] =
    status === 401 ? [...ALWAYS, 'WWW-Authenticate'] : [...AUTHENTICATED];
  if (status === 429 || status === 503) headers.push('Retry-After');
  return {
    description: codes.map((code) => `${PROBLEMS[code].title} (\`${code}\`)`).join('; '),
    schema: ProblemSchema,
    contentType: 'application/problem+json',
    headers,
  };
}
