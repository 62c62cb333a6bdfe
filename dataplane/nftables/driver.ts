import type { TableObjects } from './table/objects.ts';

/**
 * The nftables interface of the kernel. `nft.ts` uses the real kernel, `fake.ts` is the fake for tests, and both pass
 * `driver-suite.ts`.
 *
 * - `apply` submits the text as one transaction. An empty text does not reach the kernel.
 * - `change` has the effect of applying the text. It may use several transactions, but one of them changes all
 *   verdicts. A refused change may leave unreferenced objects in the table; it has no effect on packets.
 * - `check` validates the text in the kernel without a commit. A delta is validated against the present table.
 * - `remove` deletes our tables, with that of the counters, and no other table. Without our table it does nothing.
 * - `present` returns whether our table exists. It never reads the contents, which may be large.
 * - `objects` returns the declarations of our chains, sets and maps without their contents, or null if our table is
 *   absent or cannot be listed.
 * - `list` returns the elements that the kernel added to one of our sets, as the JSON of nft. It reads only that set.
 * - `watch` reports changes of our table by other programs, in words, and possible changes. It does not report the
 *   writes of this driver. It returns null if the driver cannot observe changes.
 * - `stamp` returns a number that every transaction on any table changes, or null if there is none. Foreign changes up
 *   to that number have been reported to `watch` before it returns.
 * - The caller serialises the calls. Each call limits its time and the output that it keeps.
 * - Writes are not read back. The caller keeps track of the contents, and writes the whole table if they are uncertain.
 */
export interface Driver {
  /** Returns what the host lacks for enforcement, in words, or null if nothing is missing. */
  probe(): Promise<string | null>;
  apply(text: string): Promise<void>;
  change(change: Change): Promise<void>;
  check(text: string): Promise<void>;
  remove(): Promise<void>;
  present(): Promise<boolean>;
  stamp(): Promise<number | null>;
  objects(): Promise<TableObjects | null>;
  list(set: string): Promise<string>;
  watch(report: (what: string) => void): Watch | null;
}

export interface Watch {
  /** Reports the foreign changes made before this call. */
  poll(): void;
  stop(): void;
}

/** A delta as one text, and as steps, which some drivers execute faster. */
export interface Change {
  readonly text: string;
  /** Null if packets could observe the steps separately: the delta changes more than elements. */
  readonly steps: {
    /** Creates objects that nothing refers to yet. */
    readonly prepare: string;
    readonly elements: readonly MapChange[];
    /** Deletes objects that nothing refers to any more. */
    readonly cleanup: string;
  } | null;
}

/** The changed elements of a map or a set, in the syntax of nft. */
export interface MapChange {
  readonly map: string;
  /** Interval maps only: deletes all present elements first. Keys added to an interval map may be ranges. */
  readonly flush?: boolean;
  readonly removed: readonly string[];
  /** Key and verdict, or its number (`names.ts`); null for the elements of a set. A key may end in its timeout: ` timeout 60s`. */
  readonly added: readonly (readonly [string, string | null])[];
}

/** The kernel or the nft command refused a request. Nothing was changed. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  /**
   * `refused`: the text is at fault. `unavailable`: the command could not run or timed out; after a timeout the text
   * may have been applied.
   */
  readonly code: 'refused' | 'unavailable';
  /** The lines of the text that the error names, counted from 1. */
  readonly lines: readonly number[];
  constructor(
    code: DriverError['code'],
    message: string,
    lines: readonly number[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.lines = lines;
  }
}
