import { type TSchema, Type } from 'typebox';
import {
  NOT_MODIFIED,
  PORTAL_COMMON,
  RATE_HEADERS,
  refusals,
  type ResponseRow,
  WITH_BODY,
} from '../endpoint.ts';
import type { ProblemCode } from '../problems.ts';
import { id } from '../schemas/values.ts';

export const ORGANISATION = {
  organisation: Type.String({
    description: 'The slug of an organisation. One without a role of the person is 404.',
    examples: ['acme'],
  }),
} as const;

/** An id of the path; what belongs to another organisation is 404. */
export function idParam(description: string) {
  return id({ description, examples: [17] });
}

type Responses = Readonly<Record<number, ResponseRow>>;

/** The responses of a read. */
export function readAnswers(
  description: string,
  schema: TSchema,
  problems: readonly ProblemCode[] = [],
): Responses {
  return {
    ...refusals(PORTAL_COMMON, ['not_found'], problems),
    200: { description, schema, headers: [...RATE_HEADERS, 'ETag'] },
    304: NOT_MODIFIED,
  };
}

/** The responses of an operation with a body. */
export function writeAnswers(
  status: 200 | 201,
  description: string,
  schema: TSchema,
  problems: readonly ProblemCode[] = [],
): Responses {
  return { ...deleteAnswers(description, schema, [...WITH_BODY, ...problems], status) };
}

/** The responses of a write without a body. */
export function deleteAnswers(
  description: string,
  schema: TSchema,
  problems: readonly ProblemCode[] = [],
  status: 200 | 201 = 200,
): Responses {
  return {
    ...refusals(PORTAL_COMMON, ['not_found'], problems),
    [status]: {
      description,
      schema,
      headers: [...RATE_HEADERS, 'Portcullis-Generation?'],
    },
  };
}
