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

/** Scopes in a piece of the file: about a millisecond. */
const PER_PIECE = 2_000;

/** Keeps what is watched over restarts without control. Nothing here throws: a disk that fails stops no detection. */
export class SettingsStore {
  readonly #path: string;
  readonly #log: Log;

  constructor(folder: string, log: Log) {
    this.#path = join(folder, 'watch.json');
    this.#log = log;
  }

  /** Null: there is none that can be read. */
  load(): HeldSettings | null {
    try {
      const bytes = readIfThere(this.#path);
      if (bytes === null) return null;
      const parsed = check(schema, JSON.parse(bytes.toString()));
      if (!parsed.ok) throw new Error(parsed.reason);
      const { version, scopes, cancelled } = parsed.value;
      return { version, scopes, cancelled };
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'what is to be watched cannot be read');
      return null;
    }
  }

  async save(settings: HeldSettings): Promise<void> {
    try {
      await replaceFile(this.#path, render(settings));
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'what is to be watched cannot be kept');
    }
  }
}

function* render({ version, scopes, cancelled }: HeldSettings): Generator<string> {
  yield `{"format":${FORMAT},"version":${JSON.stringify(version)},"scopes":[`;
  for (let at = 0; at < scopes.length; at += PER_PIECE) {
    const piece = JSON.stringify(scopes.slice(at, at + PER_PIECE)).slice(1, -1);
    yield at === 0 ? piece : `,${piece}`;
  }
  yield `],"cancelled":${JSON.stringify(cancelled)}}\n`;
}
