/**
 * The kernel as the edge sees it. `nft.ts` is the real one, `fake.ts` stands beside it, and
 * `driver-suite.ts` holds both to this.
 *
 * - `apply` is one transaction: all of the text or nothing of it. An empty text is done without the kernel.
 * - `check` lets the kernel judge the text and changes nothing. A text that depends on what is there
 *   (a delta) is judged against what is there.
 * - `remove` takes our table away; nothing of anybody else. No table: no-op.
 * - `present` answers whether our table is there. It never reads its contents, which may be large.
 * - Calls are the caller's to serialise. Each is bounded in time and in what it keeps of the output.
 * - Nothing is read back: whoever applies knows what is there, and writes it whole when in doubt.
 */
export interface Driver {
  /** What this host lacks to enforce, in words; null when it can. */
  probe(): Promise<string | null>;
  apply(text: string): Promise<void>;
  check(text: string): Promise<void>;
  remove(): Promise<void>;
  present(): Promise<boolean>;
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
