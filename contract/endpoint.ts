import type { TObject, TSchema } from 'typebox';
import type { HeaderName, RequestHeaderName } from './headers.ts';
import { PROBLEM_CODES, type ProblemCode, PROBLEMS } from './problems.ts';

export const ABILITIES = [
  'firewall.read',
  'firewall.manage',
  'attacks.read',
  'game-servers.read',
  'game-servers.manage',
  'game-servers.files',
  'game-servers.settings',
  'game-servers.create',
] as const;
export type Ability = (typeof ABILITIES)[number];

/** The abilities of keys of the operator, which belong to no organisation. */
export type OperatorAbility = 'operator.read' | 'operator.manage';

/** The activation flag of an area, set by the operator for an organisation. */
export type Flag = 'firewall_api' | 'attack_history_api';

/** A response header: `X?` is optional, `X` is always present. */
export type HeaderUse = HeaderName | `${HeaderName}?`;

/**
 * An OpenAPI link to an operation that uses a value of this response, for readers and fuzzers. Values are runtime
 * expressions, such as `$response.body#/data/ids`.
 */
export interface Link {
  readonly operationId: string;
  readonly description: string;
  /** Parameters by the parameter name of the other operation. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, string | readonly string[]>>;
}

export interface ResponseRow {
  readonly description: string;
  /** The body as application/json. Absent: no body, or only a problem. */
  readonly schema?: TSchema;
  /** Default: application/json. */
  readonly mediaType?: 'text/event-stream';
  /** Media types of bytes that the body may be instead. */
  readonly bytes?: readonly string[];
  /** The problems that the body may be. */
  readonly problems?: readonly ProblemCode[];
  readonly headers: readonly HeaderUse[];
  readonly example?: unknown;
  readonly links?: Readonly<Record<string, Link>>;
}

/**
 * The roles that a person needs to use a row of the portal: a role in the organisation of the path, each including
 * those before it; a session alone; nothing; or to be an operator.
 */
export const ROLES = ['read-only', 'member', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** The media type of a PATCH. */
export const MERGE_PATCH = 'application/merge-patch+json';

/** Fields that every row has. Routes, checks and OpenAPI are derived from it. */
export interface Row {
  readonly operationId: string;
  /** A PATCH takes a merge patch (RFC 7396). */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below the version's prefix: `/firewall/ips/{ip}/rules`. */
  readonly path: string;
  readonly tag: 'Firewall' | 'Game servers' | 'Attacks' | 'Account' | 'Organisation' | 'Operator';
  readonly summary: string;
  /** CommonMark. The OpenAPI document adds ability and flag. */
  readonly description: string;
  readonly params?: Readonly<Record<string, TSchema>>;
  readonly requestHeaders?: readonly RequestHeaderName[];
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Bytes that a body may have, where the bounds for all rows are too small. */
  readonly bodyBytes?: number;
  readonly bodyExamples?: Readonly<Record<string, unknown>>;
  readonly responses: Readonly<Record<number, ResponseRow>>;
  /**
   * `true`: runs in a transaction, is audited, and may take a generation. `instructs`: instructs an agent and waits for
   * it without a transaction, or has transactions of its own, as a sign-in counts what it
   * refuses. Audited; instructions are answered in the acknowledgement envelope.
   */
  readonly write: boolean | 'instructs';
  /** A read that waits for an agent, for which others of the organisation do not wait. Instructions do anyway. */
  readonly waits?: boolean;
  /** Answers with server-sent events until the connection ends. */
  readonly stream?: boolean;
  /** Takes a body of bytes, of any media type and length, which is passed on as it comes. */
  readonly takesBytes?: boolean;
  /** May answer with bytes, which are passed on as they come. */
  readonly sendsBytes?: boolean;
  /** Accepts Idempotency-Key. */
  readonly idempotent?: boolean;
  /**
   * With the query `dry_run=true` it answers what it would do, writes nothing, and needs this ability instead of its
   * own: a caller that may read could find it out by itself.
   */
  readonly dryRun?: Ability;
}

/** The contract of an operation for API keys. */
export interface Endpoint extends Row {
  /** Null: any key; what it may see depends on its abilities. */
  readonly ability: Ability | null;
  readonly flag: Flag | null;
}

/** The contract of an operation for keys of the operator, and for the sessions of operators. */
export interface OperatorEndpoint extends Row {
  readonly operator: OperatorAbility;
}

/** The contract of an operation for signed-in people. */
export interface PortalEndpoint extends Row {
  readonly role: Role | 'anyone' | 'user' | 'operator';
}

/** The headers of every response after authentication. */
export const RATE_HEADERS = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'] as const;

/** The problems of every operation. */
export const COMMON = [
  'unauthenticated',
  'ability_missing',
  'invalid_request',
  'rate_limited',
  'internal',
  'outcome_unknown',
  'unavailable',
] as const satisfies readonly ProblemCode[];

/** The problems of every operation for signed-in people. */
export const PORTAL_COMMON = [
  'unauthenticated',
  'role_missing',
  'cross_site_request',
  'invalid_request',
  'rate_limited',
  'internal',
  'outcome_unknown',
  'unavailable',
] as const satisfies readonly ProblemCode[];

/** The problems of every operation with a body. */
export const WITH_BODY = [
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
] as const satisfies readonly ProblemCode[];

/** The problems of every operation that accepts Idempotency-Key. */
export const WITH_KEY = [
  'idempotency_in_progress',
  'idempotency_key_reused',
] as const satisfies readonly ProblemCode[];

/** The 304 of every read. */
export const NOT_MODIFIED: ResponseRow = {
  description: 'The caller has this representation already (If-None-Match).',
  headers: [...RATE_HEADERS, 'ETag'],
};

/** The responses of a read for API keys: what it answers, 304, and its refusals. */
export function readResponses(
  problems: readonly ProblemCode[],
  { headers = [...RATE_HEADERS, 'ETag'], ...ok }: Partial<ResponseRow> & { description: string },
): Readonly<Record<number, ResponseRow>> {
  return { ...refusals(COMMON, problems), 200: { ...ok, headers }, 304: NOT_MODIFIED };
}

/** Response rows for problems, one per status. */
export function refusals(
  ...groups: readonly (readonly ProblemCode[])[]
): Readonly<Record<number, ResponseRow>> {
  const rows: Record<number, ResponseRow> = {};
  const codes = new Set(groups.flat());
  // In the order of the catalogue, so that equal sets look the same everywhere.
  for (const code of PROBLEM_CODES.filter((one) => codes.has(one))) {
    const { status } = PROBLEMS[code];
    const problems = [...(rows[status]?.problems ?? []), code];
    rows[status] = { description: describe(problems), problems, headers: refusalHeaders(status) };
  }
  return rows;
}

function describe(codes: readonly ProblemCode[]): string {
  return codes.map((code) => `\`${code}\`: ${PROBLEMS[code].explanation}`).join('\n\n');
}

/** Rate headers are optional: a problem may precede authentication. */
function refusalHeaders(status: number): readonly HeaderUse[] {
  const common: readonly HeaderUse[] = ['X-Request-Id', 'RateLimit?', 'RateLimit-Policy?'];
  if (status === 401) return ['X-Request-Id', 'WWW-Authenticate'];
  if (status === 429) return [...RATE_HEADERS, 'Retry-After'];
  if (status === 409 || status === 503) return [...common, 'Retry-After?'];
  return common;
}
