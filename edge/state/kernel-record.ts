import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  array,
  check,
  matching,
  natural,
  object,
  prose,
  type Static,
} from '@portcullis/link/messages/schema.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { LayoutDigest } from '@portcullis/dataplane/nftables/table/digest.ts';
import type { Sizes } from '@portcullis/dataplane/nftables/table/render.ts';
import { readIfThere } from '@portcullis/agent/durable-file.ts';
import { isThisKernel, kernelIdentity } from './boot.ts';
import { CHAIN_START, frame, unframe } from './frames.ts';
import type { LoadedTable } from './table-text.ts';

/** Changes in quick succession share a record. */
const PAUSE_MS = 250;

/** The inputs of the kernel's table, with the stamp of the ruleset, which every transaction changes. */
export interface KnownTable {
  readonly stamp: number;
  readonly digest: string;
  readonly sizes: Sizes;
}

const word = matching(/^[\x21-\x7e]{1,128}$/, 'a word');
/** The stamp counts from boot in one network namespace, so the record names both. */
const schema = object({
  boot: prose(128),
  namespace: prose(128),
  stamp: natural,
  digest: word,
  sizes: array(object({ map: word, size: natural }), 100_000),
});

/**
 * Lets a restarted agent recognise that its table is unchanged and keep it: a rewrite would lose what filters have
 * learned. Without a record, or with an old one, the table is written whole. So the record is written late and never
 * synced to disk; it is useless after a reboot.
 */
export class KernelRecords {
  readonly #path: string;
  readonly #log: Log;
  readonly #digest = new LayoutDigest();
  #wanted: LoadedTable | null = null;
  #recorded: LoadedTable | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** The recorded table; null if there is none. */
  read(): KnownTable | null {
    try {
      const { records } = unframe(readIfThere(this.#path) ?? Buffer.of());
      const checked = check(schema, records[0]);
      if (!checked.ok) return null;
      if (!isThisKernel(checked.value)) return null;
      const { stamp, digest, sizes } = checked.value;
      return { stamp, digest, sizes: new Map(sizes.map(({ map, size }) => [map, size])) };
    } catch (error) {
      this.#log.warn({ error }, 'the record of the kernel table cannot be read');
      return null;
    }
  }

  /** A table that is null or has no stamp is not recorded. */
  keep(table: LoadedTable | null): void {
    const known = this.#recorded;
    const isRecorded = table?.layout === known?.layout && table?.stamp === known?.stamp;
    if (isRecorded && this.#wanted === null) return;
    this.#wanted = table;
    this.#timer ??= setTimeout(() => void this.flush(), PAUSE_MS);
  }

  /** Records the same table again if others have changed the stamp. */
  follow(table: LoadedTable): void {
    if (table.stamp !== null && table.stamp !== (this.#wanted ?? this.#recorded)?.stamp)
      this.keep(table);
  }

  /** Writes the pending record. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const wanted = this.#wanted;
    if (wanted === null || wanted.stamp === null) return;
    try {
      const { layout, sizes, stamp } = wanted;
      const digest = await this.#digest.of(layout);
      // The pending record has changed meanwhile.
      if (wanted !== this.#wanted) return;
      this.#write({
        ...kernelIdentity(),
        stamp,
        digest,
        sizes: [...sizes].map(([map, size]) => ({ map, size })),
      });
      this.#wanted = null;
      this.#recorded = wanted;
    } catch (error) {
      this.#log.warn({ error: describeError(error) }, 'what the kernel has was not recorded');
    }
  }

  #write(record: Static<typeof schema>): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const draft = `${this.#path}.new`;
    writeFileSync(draft, frame(CHAIN_START, record).text, { mode: 0o600 });
    renameSync(draft, this.#path);
  }
}
