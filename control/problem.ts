import type { ProblemCode } from '@portcullis/contract/problems.ts';

/** One error of a request: its location (a `pointer` into the body, or a `parameter`) and a description. */
export type FieldError =
  | { readonly pointer: string; readonly detail: string }
  | { readonly parameter: string; readonly detail: string };

export interface ProblemExtra {
  readonly errors?: readonly FieldError[];
  /** Headers that belong to the answer, such as `WWW-Authenticate` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The internal cause, for the log and never for the response. */
  readonly cause?: unknown;
}

/** 422 for one value: `what` names it in the sentence, the location is as in `FieldError`. */
export function invalidValue(
  what: string,
  at: { readonly pointer: string } | { readonly parameter: string },
  detail: string,
): Problem {
  return new Problem('invalid_request', `${what} ${detail}.`, { errors: [{ ...at, detail }] });
}

/** 422 for one field of the body, in a sentence of its own. */
export function invalidField(pointer: string, detail: string): Problem {
  return new Problem('invalid_request', detail, { errors: [{ pointer, detail }] });
}

/** 422 for a request that is valid by itself and does not fit what there is. */
export function conflict(detail: string, pointer?: string): Problem {
  return new Problem('conflict', detail, {
    errors: pointer === undefined ? [] : [{ pointer, detail }],
  });
}

/**
 * An error for the caller, thrown by an area and rendered as `application/problem+json` by http/.
 * `detail` is a full sentence that the caller can act on; it names nothing internal.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, detail: string, extra: ProblemExtra = {}) {
    super(`${code}: ${detail}`, extra.cause === undefined ? {} : { cause: extra.cause });
    this.name = 'Problem';
    this.code = code;
    this.detail = detail;
    this.errors = extra.errors ?? [];
    this.headers = extra.headers ?? {};
  }
}
