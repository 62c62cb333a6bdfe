import { check, matching, type Schema } from '@portcullis/link/messages/schema.ts';

/** A field that must not be empty. */
export const filled: Schema<string> = matching(/\S/, 'a non-empty string');

/** Reads the JSON configuration of an agent's process. Throws with the reason, which quotes no values: some are secret. */
export function readProcessConfig<T>(schema: Schema<T>, text: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('the configuration is not JSON');
  }
  const read = check(schema, value);
  if (!read.ok) throw new Error(`the configuration is invalid: ${read.reason}`);
  return read.value;
}
