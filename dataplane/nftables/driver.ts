import type { TableObjects } from './table/objects.ts';

/**
 * The kernel as the edge sees it. `nft.ts` is the real one, `fake.ts` stands beside it, and
 * `driver-suite.ts` holds both to this.
 *
 * - `apply` is one transaction: all of the text or nothing of it. An empty text is done without the kernel.
 * - `change` does what applying its text does. It may do so in steps; verdicts change in one of them, at once. When
 *   it is refused, nothing has changed that a packet could see, but the table may hold what nothing refers to.
 * - `check` lets the kernel judge the text and changes nothing. A text that depends on what is there
 *   (a delta) is judged against what is there.
 * - `remove` takes our tables away, that of counters too; nothing of anybody else. No table: no-op.
 * - `present` answers whether our table is there. It never reads its contents, which may be large.
 * - `objects` answers the declarations of our chains, sets and maps, without contents, or null if our table is absent or
 *   cannot be listed.
 * - `list` answers the elements that the kernel itself put into a set of ours, as nft writes the set in JSON. It reads
 *   that set and nothing else.
 * - `watch` tells from now on when somebody else has changed our table (what, in words), or may have; not of what
 *   goes through this driver. Null: this driver cannot know.
 * - `stamp` is a number that every transaction changes, of anybody to any table; null: there is no telling. What
 *   others did to our table before it was read, `watch` has told by then.
 * - Calls are the caller's to serialise. Each is bounded in time and in what it keeps of the output.
 * - What was written is not read back: whoever applies knows what is there, and writes it whole when in doubt.
 */
export interface Driver {
  /** What this host lacks to enforce, in words; null when it can. */
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
  /** Tells at once what others did before this call. */
  poll(): void;
  stop(): void;
}

/** A delta: the whole of it as text, and the same in steps for who knows a shorter way. */
export interface Change {
  readonly text: string;
  /** Null where the steps cannot be told apart: something in it is seen by packets and is no element. */
  readonly steps: {
    /** Makes what nothing refers to yet. */
    readonly prepare: string;
    readonly elements: readonly MapChange[];
    /** Takes away what nothing refers to any more. */
    readonly cleanup: string;
  } | null;
}

/** Elements of one map of verdicts, or of a set, as nft spells them. */
export interface MapChange {
  readonly map: string;
  /** Of an interval map: nothing of what is there stays. Keys added to one may be ranges. */
  readonly flush?: boolean;
  readonly removed: readonly string[];
  /** Key and verdict; elements of a set have none. A key may end in how long it stays: ` timeout 60s`. */
  readonly added: readonly (readonly [string, string | null])[];
}

/** The kernel, or the nft command on the way to it, said no. Nothing was changed. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  /**
   * `refused`: the text is at fault. `unavailable`: the command could not run or did not end in time (then
   * it may have been applied all the same).
   */
  readonly code: 'refused' | 'unavailable';
  /** Lines of the text that were named, counted from 1. */
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
