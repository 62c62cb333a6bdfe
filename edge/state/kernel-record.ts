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

/** A change right after another is not worth a record of its own. */
const PAUSE_MS = 250;

/** What the kernel's table was made of, as of a number that nobody's transaction leaves as it is. */
export interface KnownTable {
  readonly stamp: number;
  readonly digest: string;
  readonly sizes: Sizes;
}

const word = matching(/^[\x21-\x7e]{1,128}$/, 'a word');
/** The stamp counts since the boot, in one network namespace. */
const schema = object({
  boot: prose(128),
  namespace: prose(128),
  stamp: natural,
  digest: word,
  sizes: array(object({ map: word, size: natural }), 100_000),
});

/**
 * Lets a restarted agent recognise its own table, untouched, and leave it: writing it again would forget what
 * filters have learnt. Nothing depends on it: without a record, or with an old one, the table is written whole.
 * So it is written late, and never forced to the disk; it is of no use after a reboot anyway.
 */
export class KernelRecords {
  readonly #path: string;
  readonly #log: Log;
  readonly #digest = new LayoutDigest();
  #wanted: LoadedTable | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** What was there when somebody last looked; null: nobody knows. */
  read(): KnownTable | null {
    try {
      const { records } = unframe(readIfThere(this.#path) ?? Buffer.of());
      const checked = check(schema, records[0]);
      if (!checked.ok) return null;
      if (!isThisKernel(checked.value)) return null;
      const { stamp, digest, sizes } = checked.value;
      return { stamp, digest, sizes: new Map(sizes.map(({ map, size }) => [map, size])) };
    } catch (error) {
      this.#log.warn({ error }, 'what the kernel had cannot be told');
      return null;
    }
  }

  /** Null, or without a stamp: there is nothing to recognise it by. */
  keep(table: LoadedTable | null): void {
    this.#wanted = table;
    this.#timer ??= setTimeout(() => void this.flush(), PAUSE_MS);
  }

  /** Writes what there is to be said. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const wanted = this.#wanted;
    if (wanted === null || wanted.stamp === null) return;
    try {
      const { layout, sizes, stamp } = wanted;
      const digest = await this.#digest.of(layout);
      // Meanwhile there is more to say, or nothing any more.
      if (wanted !== this.#wanted) return;
      this.#write({
        ...kernelIdentity(),
        stamp,
        digest,
        sizes: [...sizes].map(([map, size]) => ({ map, size })),
      });
      this.#wanted = null;
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
