import type { ErrorObject } from 'ajv';
import { MAX_ERRORS, pointerStep } from './text.ts';

export interface SchemaError {
  /** The JSON pointer of the error; for a missing or unknown field its own. */
  readonly pointer: string;
  readonly detail: string;
}

/**
 * Converts ajv's errors (with `allErrors` and `verbose`) to sentences, one per place. For a union (`string or null`)
 * ajv reports every branch: the branch that fits the value's type is used, or the union.
 */
export function explainSchemaErrors(errors: readonly ErrorObject[]): SchemaError[] {
  const explained = new Map<string, SchemaError>();
  for (const error of withoutUnionNoise(errors)) {
    if (explained.size >= MAX_ERRORS) break;
    const pointer = pointerOf(error);
    if (!explained.has(pointer)) explained.set(pointer, { pointer, detail: describe(error) });
  }
  return [...explained.values()];
}

/** An error of an unrelated branch. */
const MISFITS = new Set(['type', 'const', 'format']);

function withoutUnionNoise(errors: readonly ErrorObject[]): ErrorObject[] {
  const unions = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf');
  if (unions.length === 0) return [...errors];
  const spoken = new Set<string>();
  const kept: ErrorObject[] = [];
  for (const error of errors) {
    if (unions.includes(error)) continue;
    const within = unions.some((union) => isBranchOf(error, union));
    if (within && MISFITS.has(error.keyword)) continue;
    if (within) spoken.add(error.instancePath);
    kept.push(error);
  }
  return [...kept, ...unions.filter((union) => !spoken.has(union.instancePath))];
}

function isBranchOf(error: ErrorObject, union: ErrorObject): boolean {
  return error.schemaPath.startsWith(`${union.schemaPath}/`);
}

function pointerOf(error: ErrorObject): string {
  const params: Record<string, unknown> = error.params;
  const name =
    params['missingProperty'] ?? params['additionalProperty'] ?? params['unevaluatedProperty'];
  if (typeof name !== 'string') return error.instancePath;
  return `${error.instancePath}/${pointerStep(name)}`;
}

type Describe = (params: Record<string, unknown>, error: ErrorObject) => string;

const DESCRIPTIONS: Readonly<Record<string, Describe>> = {
  required: () => 'is required',
  additionalProperties: () => 'is not a known field',
  unevaluatedProperties: () => 'is not a known field',
  type: ({ type }) => `must be ${namesOf(type)}`,
  enum: ({ allowedValues }) => `must be one of ${listOf(allowedValues)}`,
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  minLength: ({ limit }) =>
    limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`,
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  minItems: ({ limit }) => `must name at least ${limit}`,
  maxItems: ({ limit }) => `must name at most ${limit}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be greater than ${limit}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
  minProperties: ({ limit }) => `must have at least ${limit} fields`,
  uniqueItems: () => 'must not name the same twice',
  pattern: () => 'does not have the expected form',
  format: ({ format }) => `must be a valid ${String(format)}`,
  anyOf: (_, error) => describeUnion(error.schema),
  oneOf: (_, error) => describeUnion(error.schema),
};

function describe(error: ErrorObject): string {
  return DESCRIPTIONS[error.keyword]?.(error.params, error) ?? 'is not valid';
}

/** `string, integer or null` from the branches of a union; constants by their value. */
function describeUnion(branches: unknown): string {
  if (!Array.isArray(branches)) return 'is not valid';
  const names = branches.map((branch: unknown): string => {
    if (typeof branch !== 'object' || branch === null) return 'something else';
    if ('const' in branch) return JSON.stringify(branch.const);
    if ('type' in branch) return namesOf(branch.type);
    return 'format' in branch ? `a valid ${String(branch.format)}` : 'something else';
  });
  return `must be ${join(names)}`;
}

const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

function namesOf(type: unknown): string {
  const types = Array.isArray(type) ? type : [type];
  return join(types.map((one: unknown) => ARTICLES[String(one)] ?? String(one)));
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? join(values.map((value: unknown) => JSON.stringify(value))) : '';
}

function join(words: readonly string[]): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
