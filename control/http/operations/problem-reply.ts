import type { FastifyReply } from 'fastify';
import { MOST } from '@portcullis/contract/body-limits.ts';
import { type ProblemCode, PROBLEMS } from '@portcullis/contract/problems.ts';
import { codeOf, describeUnavailable, isUnavailable } from '../../db/failure.ts';
import { Problem } from '../../problem.ts';
import { unsupportedMediaType } from '../input/body.ts';
import { notFoundPath } from './not-found.ts';
import type { Reply } from './operation.ts';

const RETRY_AFTER_SECONDS = 5;

/** Sends bytes without serialising again. */
export function sendReply(
  reply: FastifyReply,
  answer: Pick<Reply, 'status' | 'headers'> & { readonly payload: Buffer | null },
): FastifyReply {
  return reply
    .code(answer.status)
    .headers(answer.headers)
    .send(answer.payload ?? undefined);
}

/** The problem document: RFC 9457 with `code`, and `errors` for parts of the input. */
export function problemReply(problem: Problem, requestId: string): Reply {
  const { status, title } = PROBLEMS[problem.code];
  const document = {
    type: `/problems/${problem.code}`,
    title,
    status,
    detail: problem.detail,
    code: problem.code,
    ...(problem.errors.length > 0 && { errors: problem.errors }),
    // The request id leads the operator to the cause in the log.
    ...(problem.code === 'internal' && { request_id: requestId }),
  };
  const headers: Record<string, string> = {
    ...problem.headers,
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
  };
  if (problem.code === 'unauthenticated') headers['www-authenticate'] ??= 'Bearer';
  return { status, headers, payload: Buffer.from(JSON.stringify(document)) };
}

/** Fastify's own refusals, by its error code; with the bytes that the row reads. */
const FROM_FASTIFY: Readonly<Record<string, (bodyLimit: number) => Problem>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (bodyLimit) =>
    new Problem(
      'payload_too_large',
      `The body is larger than ${Math.floor(bodyLimit / 1024)} KiB, and this operation reads no more. Send it in parts.`,
    ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: unsupportedMediaType,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new Problem('malformed_json', 'The body is not as long as Content-Length says.'),
  FST_ERR_BAD_URL: notFoundPath,
  FST_ERR_MAX_PARAM_LENGTH: notFoundPath,
};

/** Converts an exception to a problem. The cause stays internal, for the log. */
export function toProblem(error: unknown, bodyLimit: number = MOST.bytes): Problem {
  if (error instanceof Problem) return error;
  const fromFastify = FROM_FASTIFY[codeOf(error) ?? ''];
  if (fromFastify !== undefined) return fromFastify(bodyLimit);
  if (isUnavailable(error)) {
    return new Problem(
      'unavailable',
      `${describeUnavailable(error)} Try again in ${RETRY_AFTER_SECONDS} s.`,
      { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) }, cause: error },
    );
  }
  return new Problem(
    'internal',
    'Something went wrong on our side. Tell the operator the request_id; the cause is in the log under it.',
    { cause: error },
  );
}

/** Whether it is an error for the operator: anything that the caller could not avoid. */
export function isServerError(code: ProblemCode): boolean {
  return PROBLEMS[code].status >= 500;
}
