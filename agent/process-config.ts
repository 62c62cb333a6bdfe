import type { Static, TSchema } from 'typebox';
import { createValidator, readAs } from '@portcullis/core/schema/validator.ts';

/** Reads the JSON configuration of an agent's process. Throws with the reason, which quotes no values: some are secret. */
export function readProcessConfig<S extends TSchema>(schema: S, text: string): Static<S> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('the configuration is not JSON');
  }
  const read = readAs(createValidator(schema), value, 'the configuration');
  if (!read.ok) throw new Error(`the configuration is invalid: ${read.reason}`);
  return read.value;
}
