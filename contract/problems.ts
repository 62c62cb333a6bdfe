import { Type } from 'typebox';
import { integer, object, openChoice } from './schemas/values.ts';

interface ProblemEntry {
  readonly status: number;
  /** Short, the same for every occurrence (RFC 9457, 3.1.3). */
  readonly title: string;
  /** The meaning: a paragraph of plain text, shown at /problems/<code>. */
  readonly explanation: string;
  /** The remedy that is in the hands of the caller. */
  readonly remedy: string;
}

/** The catalogue of problems: stable codes, each with a page at /problems/<code>. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'Malformed JSON',
    explanation:
      'The body of the request is not one JSON value in UTF-8: it is empty, cut off, names a key twice, or is no JSON at all. It was not looked at any further.',
    remedy: 'Send one JSON object. The detail says where reading stopped.',
  },
  unauthenticated: {
    status: 401,
    title: 'Not authenticated',
    explanation:
      'The request carries no API key, or one that is not valid: mistyped, unknown, expired, revoked, or not to be used from this source address. The answer does not say which.',
    remedy:
      'Send the header "Authorization: Bearer <API_KEY>" with a key that is valid. Keys are created in the organisation settings; the plaintext is shown once.',
  },
  area_not_enabled: {
    status: 403,
    title: 'Area not enabled',
    explanation:
      'The area of this operation is not activated for the organisation. The firewall needs the flag firewall_api, the attack history the flag attack_history_api.',
    remedy: "Ask the operator's staff to enable the area; they do it on request.",
  },
  ability_missing: {
    status: 403,
    title: 'Ability missing',
    explanation:
      'The key is valid, but it does not carry the ability that this operation requires.',
    remedy: 'Use a key that has the ability named in the detail, or have one created.',
  },
  role_missing: {
    status: 403,
    title: 'Role missing',
    explanation: 'The signed-in person may not do this: it needs another role in the organisation.',
    remedy: 'Ask an owner or administrator of the organisation; the detail names the role.',
  },
  cross_site_request: {
    status: 403,
    title: 'Cross-site request',
    explanation:
      'The request changes something, comes with the cookie of a session, and does not show that a page of this portal sent it.',
    remedy:
      'Send it from the portal, or with the header "X-Portcullis-CSRF: 1". Scripts use an API key instead of a session.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    explanation:
      'There is nothing here for this key: no such path, no address that the organisation holds at this moment, or no server that the key sees. What belongs to others and what does not exist are answered alike.',
    remedy:
      'Check the path. An address must lie inside a prefix that the organisation announces, or be assigned to one of its services; GET /api/x1/firewall/ips lists them. A game server is named by its uuid.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    explanation: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods that the Allow header lists.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'Idempotent request in progress',
    explanation:
      'Another request with the same Idempotency-Key is still running, so its answer is not known yet. This request did nothing.',
    remedy: 'Send the same request again in a moment; it then gets the answer of the first.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    explanation:
      'If-Match names a state that is no longer the present one, because another write came in between; or If-None-Match asked to create what is there already. Nothing was changed.',
    remedy: 'Read it again, redo the change on what it has now, and send the new ETag.',
  },
  payload_too_large: {
    status: 413,
    title: 'Payload too large',
    explanation: 'The body is larger than this service reads.',
    remedy: 'Send less at once: split the request into several.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    explanation: 'The body is not declared to be JSON in UTF-8, or it is compressed.',
    remedy: 'Send "Content-Type: application/json" and no Content-Encoding.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'Range not satisfiable',
    explanation: 'The header Range names a part that lies behind the end of the file.',
    remedy: 'Read the size of the file, and ask for a part of it.',
  },
  invalid_request: {
    status: 422,
    title: 'Invalid request',
    explanation:
      'The request is readable, but a field, a parameter or a header is not what the operation takes: missing, unknown, of the wrong type, out of its range, or with control characters in it. Nothing was changed.',
    remedy:
      'Correct what the member errors lists: a pointer names a place in the body, a parameter names a query parameter or header.',
  },
  rule_exists: {
    status: 422,
    title: 'Rule exists',
    explanation:
      'At least one rule of the request is identical to a rule that is already on the address (its own, or one of a group). Nothing was created, also not for the other ports.',
    remedy: 'Leave out the ports named in the detail, or keep the existing rules.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    explanation:
      'The Idempotency-Key was used within the last 24 hours for a request to the same path with another body or query. Nothing was changed.',
    remedy: 'Use a new key for every new request, and the same one only to repeat a request.',
  },
  filter_exists: {
    status: 422,
    title: 'Filter exists',
    explanation:
      'At least one filter of the request is already on the address (its own, or one of a group). Nothing was created, also not for the other ports.',
    remedy: 'Leave out the ports named in the detail, or keep the existing filters.',
  },
  filter_unavailable: {
    status: 422,
    title: 'Filter unavailable',
    explanation:
      'There is no filter of this type for this address. A type that does not exist and one that the address cannot have are answered alike.',
    remedy: 'Take a type from GET /firewall/ips/{ip}/filters/available of the same address.',
  },
  limit_exceeded: {
    status: 422,
    title: 'Limit exceeded',
    explanation:
      'The request would pass a limit: rules or filters on an address, ports in one request, ids or keys in one delete, addresses that the organisation configures, or its quota of servers. Nothing was changed, and nothing was cut short silently.',
    remedy:
      'Ask for less, or delete what is no longer needed. The limits in force are in meta.limits of GET /firewall/ips/{ip}; the operator can raise them.',
  },
  managed_by_fleet_file: {
    status: 422,
    title: 'Managed by the fleet file',
    explanation:
      'The object belongs to the fleet file of the operator, so the portal shows it and does not change it. Nothing was changed.',
    remedy: 'Ask the operator to change it in the fleet file.',
  },
  live_objects: {
    status: 422,
    title: 'Firewall objects in force',
    explanation:
      'The change would take rules, filters or assignments out of force, because the addresses that they are for would leave their holder. Nothing was changed.',
    remedy: 'Remove them first, or send the request again with allow_losses.',
  },
  conflict: {
    status: 422,
    title: 'Refused as things are',
    explanation:
      'The request is valid by itself and does not fit what there is: somebody else has it, or something must be removed first. Nothing was changed.',
    remedy:
      'The detail says what stands against it. The same request is accepted once that is gone.',
  },
  no_capacity: {
    status: 422,
    title: 'No capacity',
    explanation: 'No node of the fleet has room for the game server now. Nothing was changed.',
    remedy:
      'The detail says of each node what it lacks. Add a node, or raise what one offers, and send the same request again.',
  },
  managed_by_group: {
    status: 422,
    title: 'Managed by a group',
    explanation:
      'A rule or filter of the request belongs to a firewall group, so it cannot be deleted on a single address. Nothing was deleted.',
    remedy: 'Change the group named in the detail, or take the address out of it.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    explanation:
      'The key, the person, the source or the whole organisation sent more requests than it may, or too many at once.',
    remedy:
      'Wait as many seconds as the Retry-After header says. RateLimit tells on every answer how much is left.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    explanation:
      'Something failed on our side that should not have. Whether a write took effect can be read back.',
    remedy: 'Tell the operator the request_id; the cause is in the log under it.',
  },
  no_port_landed: {
    status: 502,
    title: 'No port landed',
    explanation: 'The request was valid, but not one of its rules could be created.',
    remedy: 'Send the request again. Nothing was created.',
  },
  outcome_unknown: {
    status: 503,
    title: 'Outcome unknown',
    explanation:
      'The write was sent to the database, and no answer came in time, so it is not known whether it took effect.',
    remedy:
      'Send the request again with the same Idempotency-Key: it is answered as the first one was, or done. Without a key, read the object back first.',
  },
  unavailable: {
    status: 503,
    title: 'Unavailable',
    explanation:
      'The service cannot answer at the moment, usually because its database is restarting, out of reach, or did not answer within 10 seconds. Nothing was written.',
    remedy:
      'Send the request again after as many seconds as Retry-After says; with the same Idempotency-Key it is safe to repeat a POST.',
  },
} as const satisfies Readonly<Record<string, ProblemEntry>>;

export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];

const InputError = object('InputError', 'One thing that is wrong with the input, and where.', {
  pointer: Type.Optional(
    Type.String({ description: 'JSON pointer (RFC 6901) to the place in the body.' }),
  ),
  parameter: Type.Optional(Type.String({ description: 'Name of the query parameter or header.' })),
  detail: Type.String({ description: 'What is wrong there.' }),
});

/** RFC 9457, with `code` to program against. */
export const Problem = object(
  'Problem',
  'A refusal in the form of RFC 9457. Clients ignore members they do not know.',
  {
    type: Type.String({
      format: 'uri-reference',
      description: 'Path of a page that explains the problem: /problems/<code>.',
    }),
    title: Type.String({ description: 'The same for every occurrence of the code.' }),
    status: integer({ minimum: 400, maximum: 599, description: 'The HTTP status, again.' }),
    detail: Type.String({ description: 'What happened here, in a sentence a person can act on.' }),
    code: openChoice(PROBLEM_CODES, { description: 'What to program against. Stable.' }),
    errors: Type.Optional(Type.Array(InputError, { description: 'Where the input is wrong.' })),
    request_id: Type.Optional(
      Type.String({ description: 'Only with code internal: what the operator finds it under.' }),
    ),
  },
);
