import type { TSchema } from 'typebox';
import { type ProblemCode, PROBLEMS, ProblemSchema } from './problems.ts';
import { Acknowledgement } from './schemas/game-servers.ts';

export interface ResponseRow {
  readonly description: string;
  /** By media type; empty: no body. */
  readonly content: Readonly<Record<string, TSchema>>;
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

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';

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
  const made = { [status]: { description, content: { [JSON_TYPE]: schema }, headers } };
  if (kind !== 'read') return made;
  const unchanged = 'The representation named in If-None-Match is still the current one';
  return { ...made, 304: { description: unchanged, content: {}, headers } };
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

/**
 * Power and command answer 422 and 502 in the acknowledgement envelope; a malformed request to them is a
 * problem all the same, so 422 comes in either media type.
 */
export function acknowledged(): Responses {
  const problems = refuses(true, 'not_implemented');
  const acknowledgement = { [JSON_TYPE]: Acknowledgement };
  const malformed = problems[422] as ResponseRow;
  return {
    ...answers(200, 'The node accepted', Acknowledgement, 'plain'),
    ...problems,
    422: {
      ...malformed,
      description: `The server is not provisioned yet (\`ok\` false), or: ${malformed.description}`,
      content: { ...acknowledgement, ...malformed.content },
    },
    502: {
      description: 'The node refused; the message says why',
      content: acknowledgement,
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
    content: { [PROBLEM_TYPE]: ProblemSchema },
    headers,
  };
}
