import { join } from 'node:path';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readIfThere, replaceFile } from '../durable-file.ts';
import {
  cancelledAttacks,
  MAX_WATCH_SCOPES,
  watchScope,
} from '@portcullis/link/messages/attacks.ts';
import { array, check, integer, object, type Static } from '@portcullis/link/messages/schema.ts';
import { version } from '@portcullis/link/messages/values.ts';

const FORMAT = 1;
const schema = object({
  format: integer(FORMAT, FORMAT),
  version,
  scopes: array(watchScope, MAX_WATCH_SCOPES),
  cancelled: cancelledAttacks,
});
/** The complete settings of detection. */
export type HeldSettings = Omit<Static<typeof schema>, 'format'>;

/** Keeps the settings over restarts without control. Nothing here throws: a disk that fails stops no detection. */
export class SettingsStore {
  readonly #path: string;
  readonly #log: Log;

  constructor(folder: string, log: Log) {
    this.#path = join(folder, 'watch.json');
    this.#log = log;
  }

  /** Returns null if there are none that can be read. */
  load(): HeldSettings | null {
    try {
      const bytes = readIfThere(this.#path);
      if (bytes === null) return null;
      const parsed = check(schema, JSON.parse(bytes.toString()));
      if (!parsed.ok) throw new Error(parsed.reason);
      const { version, scopes, cancelled } = parsed.value;
      return { version, scopes, cancelled };
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'the settings of detection cannot be read');
      return null;
    }
  }

  async save(settings: HeldSettings): Promise<void> {
    try {
      await replaceFile(this.#path, [JSON.stringify({ format: FORMAT, ...settings })]);
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'the settings of detection cannot be saved');
    }
  }
}
