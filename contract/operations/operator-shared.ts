import { type TSchema, Type } from 'typebox';
import { type ResponseRow, WITH_KEY } from '../endpoint.ts';
import type { ProblemCode } from '../problems.ts';
import { deleteAnswers, readAnswers, writeAnswers } from './portal-shared.ts';

type Responses = Readonly<Record<number, ResponseRow>>;

export const SLUG = { slug: Type.String({ description: 'The slug of an organisation.' }) };

/** Fields that the rows of one method have in common. */
const common = { tag: 'Operator' } as const;
export const read = {
  ...common,
  operator: 'operator.read',
  method: 'GET',
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;
const manages = { ...common, operator: 'operator.manage', write: true } as const;
export const save = { ...manages, method: 'PUT' } as const;
/** A PUT of the whole object, which may be conditional. */
export const replace = { ...save, requestHeaders: ['If-Match', 'If-None-Match'] } as const;
export const change = { ...manages, method: 'PATCH', requestHeaders: ['If-Match'] } as const;
const once = { ...manages, idempotent: true, requestHeaders: ['Idempotency-Key'] } as const;
export const create = { ...once, method: 'POST' } as const;
export const remove = { ...once, method: 'DELETE' } as const;

const ALL = ['ability_missing', 'conflict', 'managed_by_fleet_file'] as const;

export function readAnswer(description: string, schema: TSchema): Responses {
  return readAnswers(description, schema, ['ability_missing']);
}

/** The answer of a PUT with a body. */
export function saveAnswer(
  description: string,
  schema: TSchema,
  problems: readonly ProblemCode[] = [],
): Responses {
  return writeAnswers(200, description, schema, [...ALL, ...problems]);
}

/** The answer of a POST with a body. */
export function createAnswer(
  description: string,
  schema: TSchema,
  problems: readonly ProblemCode[] = [],
): Responses {
  return writeAnswers(201, description, schema, [...ALL, ...WITH_KEY, ...problems]);
}

/** The answer of a DELETE or POST without a body. */
export function doneAnswer(
  description: string,
  schema: TSchema,
  problems: readonly ProblemCode[] = [],
): Responses {
  return deleteAnswers(description, schema, [...ALL, ...WITH_KEY, ...problems]);
}
