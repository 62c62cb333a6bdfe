import { join } from 'node:path';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { network } from '@portcullis/link/messages/values.ts';
import { MAX_SAFELIST, mitigationAction } from '@portcullis/link/messages/attacks.ts';
import {
  array,
  check,
  integer,
  number,
  object,
  oneOf,
  text,
} from '@portcullis/link/messages/schema.ts';
import type { MachineClock } from '../../switch/machine-clock.ts';
import { OVERLAY_TTL_MS, type OverlayEntry } from './overlay.ts';

const FORMAT = 1;
const shape = object({
  format: integer(FORMAT, FORMAT),
  boot: text(128),
  entries: array(
    object<OverlayEntry>({
      subject: network,
      actions: array(mitigationAction, 100),
      mode: oneOf('enforce', 'observe'),
      safelist: array(network, MAX_SAFELIST),
      expiresMs: number(0, Number.MAX_SAFE_INTEGER),
    }),
    1_000,
  ),
});

/** Keeps the overlay on disk across restarts of the agent, with the remaining time to live. Never throws. */
export class OverlayStore {
  readonly #path: string;
  readonly #clock: MachineClock;
  readonly #log: Log;
  #saving: Promise<void> = Promise.resolve();

  constructor(folder: string, clock: MachineClock, log: Log) {
    this.#path = join(folder, 'overlay.json');
    this.#clock = clock;
    this.#log = log;
  }

  load(): readonly OverlayEntry[] {
    try {
      const bytes = readIfThere(this.#path);
      if (bytes === null) return [];
      const parsed = check(shape, JSON.parse(bytes.toString()));
      if (!parsed.ok) throw new Error(parsed.reason);
      const { boot, entries } = parsed.value;
      // At most the time to live of a new entry, whatever the file says; after a reboot exactly that.
      const latestMs = this.#clock.nowMs() + OVERLAY_TTL_MS;
      const isSameBoot = boot === this.#clock.boot;
      return entries.map((entry) => ({
        ...entry,
        expiresMs: isSameBoot ? Math.min(entry.expiresMs, latestMs) : latestMs,
      }));
    } catch (error) {
      this.#log.warn(
        { error: describeError(error) },
        'saved autonomous mitigations cannot be read',
      );
      return [];
    }
  }

  /** Resolves when the file is written or the disk took too long. */
  async save(entries: readonly OverlayEntry[]): Promise<void> {
    const { boot } = this.#clock;
    const content = `${JSON.stringify({ format: FORMAT, boot, entries })}\n`;
    this.#saving = this.#saving
      .then(() => replaceFile(this.#path, [content]))
      .catch((error: unknown) =>
        this.#log.warn({ error: describeError(error) }, 'autonomous mitigations cannot be saved'),
      );
    await withTimeout(this.#saving);
  }

  /** Resolves when the last save is done or has failed. */
  settled(): Promise<void> {
    return this.#saving;
  }
}

/** The longest time that a disk may delay a mitigation. */
const TIMEOUT_MS = 500;

/** Resolves with the work or after the timeout; the work then continues by itself. */
export async function withTimeout(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, TIMEOUT_MS)));
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
