import type { Problem } from './generated/operations.ts';

interface Failure {
  /** The HTTP status. */
  readonly status: number;
  /** The code to program against, such as `rule_exists`; see /problems/<code>. */
  readonly code: string;
  /** The id by which the operator finds the request under; null if the answer did not come from Portcullis. */
  readonly requestId: string | null;
}

/** Every error of this client but that of an aborted signal, whose own reason is thrown. */
export class PortcullisError extends Error {
  override readonly name: string = 'PortcullisError';
}

/** The service answered with a problem (RFC 9457). */
export class ProblemError extends PortcullisError implements Failure {
  override readonly name: string = 'ProblemError';
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  /** Where the input is wrong. */
  readonly errors: NonNullable<Problem['errors']>;
  /** Seconds after which it is worth trying again; null if the answer did not say. */
  readonly retryAfterSeconds: number | null;

  constructor(
    failure: Failure,
    problem: Pick<Problem, 'detail' | 'errors'>,
    retryAfter: number | null,
  ) {
    super(problem.detail);
    this.status = failure.status;
    this.code = failure.code;
    this.requestId = failure.requestId;
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = retryAfter;
  }
}

/** 401: no valid key or session. */
export class AuthenticationError extends ProblemError {
  override readonly name = 'AuthenticationError';
}
/** 403: the key or role may not do this. */
export class PermissionError extends ProblemError {
  override readonly name = 'PermissionError';
}
/** 404: it does not exist, or belongs to others. */
export class NotFoundError extends ProblemError {
  override readonly name = 'NotFoundError';
}
/** 409 and 412: something changed or runs at the same time. */
export class ConflictError extends ProblemError {
  override readonly name = 'ConflictError';
}
/** 400, 413, 415 and 422: nothing was changed; `errors` says what is wrong. */
export class InvalidRequestError extends ProblemError {
  override readonly name = 'InvalidRequestError';
}
/** 429: more requests than the organisation is allowed. */
export class RateLimitError extends ProblemError {
  override readonly name = 'RateLimitError';
}
/** 500 and above: the service failed or cannot answer now. */
export class ServiceError extends ProblemError {
  override readonly name = 'ServiceError';
}

/** A node did not take a power signal or a command; the message says why. */
export class InstructionRefusedError extends PortcullisError implements Failure {
  override readonly name = 'InstructionRefusedError';
  readonly code = 'instruction_refused';
  readonly status: number;
  readonly requestId: string | null;

  constructor(message: string, status: number, requestId: string | null) {
    super(message);
    this.status = status;
    this.requestId = requestId;
  }
}

/** No answer: the service could not be reached, or the connection broke. Whether a write took effect is not known. */
export class ConnectionError extends PortcullisError {
  override readonly name: string = 'ConnectionError';
  readonly code: string = 'connection_failed';
}

/** No answer in time. Whether a write took effect is not known. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
  override readonly code = 'timed_out';
}

/** A write is accepted and not live, because no edge enforces where it applies. It is live once an edge does. */
export class NotEnforcedError extends PortcullisError {
  override readonly name = 'NotEnforcedError';
}

const BY_STATUS: Readonly<Record<number, typeof ProblemError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitError,
};

/** The error of an answer outside 2xx; `text` is its body. */
export function errorOf(response: Response, text: string): PortcullisError {
  const { status } = response;
  const requestId = response.headers.get('x-request-id');
  const body = parseObject(text);
  if (body?.['ok'] === false && typeof body['message'] === 'string') {
    return new InstructionRefusedError(body['message'], status, requestId);
  }
  const Kind = BY_STATUS[status] ?? (status >= 500 ? ServiceError : ProblemError);
  const code = typeof body?.['code'] === 'string' ? body['code'] : 'unexpected_answer';
  const detail =
    typeof body?.['detail'] === 'string'
      ? body['detail']
      : `The server answered ${status} without a problem document. Is the base URL that of Portcullis?`;
  const errors = Array.isArray(body?.['errors']) ? (body['errors'] as Problem['errors']) : [];
  const problem = { detail, ...(errors && { errors }) };
  return new Kind({ status, code, requestId }, problem, retryAfterOf(response.headers));
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Seconds; the service sends no dates, but a proxy before it may. */
function retryAfterOf(headers: Headers): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
