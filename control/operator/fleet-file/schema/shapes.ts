import { type TSchema, Type } from 'typebox';

/** Shapes that the schema of a fleet file is made of. */

export const NO_CONTROL = '^[^\\u0000-\\u001f\\u007f]*$';

export function closed<T extends Record<string, TSchema>>(properties: T, description?: string) {
  return Type.Object(properties, {
    additionalProperties: false,
    ...(description === undefined ? {} : { description }),
  });
}
export const text = (description: string, maxLength = 200) =>
  Type.String({ minLength: 1, maxLength, pattern: NO_CONTROL, description });
export const whole = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
export const list = <T extends TSchema>(items: T, description: string, limits: object = {}) =>
  Type.Array(items, { maxItems: 100_000, description, ...limits });
