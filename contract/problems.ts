import { type Static, Type } from 'typebox';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** For the page at /problems/CODE: what it means, and what to do about it. */
  readonly explanation: string;
}

/** Every way in which a request is refused, RFC 9457. A code never changes its status or its meaning. */
export const PROBLEMS = {
  unauthenticated: {
    status: 401,
    title: 'A valid API key is needed',
    explanation:
      'Send "Authorization: Bearer KEY" with a key of your organisation. The key may be missing, mistyped, unknown, expired, revoked, or not usable from your address.',
  },
  area_not_enabled: {
    status: 403,
    title: 'This area is not enabled for your organisation',
    explanation:
      "The operator's staff enable the area on request. Until then none of its operations answer.",
  },
  ability_missing: {
    status: 403,
    title: 'The key lacks an ability',
    explanation: 'Use a key that carries the ability named in the detail, or have one created.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    explanation:
      'There is no such path, or no such address or server that this key may touch. What belongs to others answers exactly as what does not exist.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path has no such method',
    explanation: 'The Allow header lists the methods of the path.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    explanation:
      'The body must be one JSON value in UTF-8, without duplicate keys and without deep nesting. The detail names the position.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    explanation: 'Split the request into smaller ones.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has another content type than JSON',
    explanation: 'Send "Content-Type: application/json".',
  },
  invalid_request: {
    status: 422,
    title: 'The request is not valid',
    explanation:
      'Each entry of "errors" names a place and what is wrong there. Nothing was changed.',
  },
  rule_exists: {
    status: 422,
    title: 'An identical rule exists',
    explanation:
      'The address already has the rule, its own or one of a firewall group. Nothing was created.',
  },
  filter_exists: {
    status: 422,
    title: 'An identical filter exists',
    explanation:
      'The address already has the filter on that port, its own or one of a firewall group. Nothing was created.',
  },
  filter_unavailable: {
    status: 422,
    title: 'This filter is not available on this address',
    explanation:
      'There is no such filter type, or the service that the address is assigned to manages it itself. The list of available filters of the address shows what can be applied.',
  },
  limit_exceeded: {
    status: 422,
    title: 'A limit would be exceeded',
    explanation:
      'The detail names the limit and its value. Nothing was changed; nothing is ever cut off silently.',
  },
  managed_by_group: {
    status: 422,
    title: 'A firewall group owns this object',
    explanation:
      'Objects of a group are changed in the group. The detail names it. Nothing was deleted.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The idempotency key was used for another request',
    explanation:
      'Use a new Idempotency-Key for every new request; repeat one only with the very same body.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The first request with this idempotency key still runs',
    explanation: 'Wait a moment and send the same request again to read its answer.',
  },
  precondition_failed: {
    status: 412,
    title: 'The address has changed since it was read',
    explanation:
      'Read it again, apply your change to what is there now, and send the new ETag in If-Match.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    explanation:
      'Wait as many seconds as Retry-After says. RateLimit and RateLimit-Policy show the budget of the key.',
  },
  no_port_landed: {
    status: 502,
    title: 'No port of the request landed',
    explanation:
      'Every single port failed at its turn, so no rule was created. Try again; if it stays so, tell the operator the request id.',
  },
  not_implemented: {
    status: 501,
    title: 'This area is not built yet',
    explanation: 'The operation is part of the interface and will answer in a later version.',
  },
  unavailable: {
    status: 503,
    title: 'The service cannot answer just now',
    explanation:
      'Nothing was changed unless an earlier answer said so. Try again after Retry-After seconds; with an Idempotency-Key it is safe to repeat a POST.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong here',
    explanation:
      'It is our fault. Tell the operator the request id: it leads to the cause in the log.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];

/** A place in the body (JSON pointer) or a parameter, and what is wrong there. */
const FieldErrorSchema = Type.Union([
  Type.Object({ pointer: Type.String(), detail: Type.String() }, { additionalProperties: false }),
  Type.Object({ parameter: Type.String(), detail: Type.String() }, { additionalProperties: false }),
]);

/** `application/problem+json`, the body of every refusal outside the acknowledgement envelope. */
export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: 'Path of a page that explains the problem: /problems/CODE' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: 'A full sentence that a person can act on' }),
    code: Type.String({ enum: [...PROBLEM_CODES] }),
    errors: Type.Optional(Type.Array(FieldErrorSchema)),
    request_id: Type.Optional(Type.String({ description: 'Leads the operator to the log' })),
  },
  { additionalProperties: false },
);

export type ProblemDocument = Static<typeof ProblemSchema>;
