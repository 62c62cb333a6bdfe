export interface CallResult {
  readonly succeeded: boolean;
  /** Its output, cut. */
  readonly output: string;
}

/** The kept length of the output. */
export const OUTPUT_BYTES = 4_096;

/**
 * `settled`: it succeeded or is out of retries. `superseded`: its lease had ended, another process had begun the next
 * attempt, and nothing was stored.
 */
export type CallOutcome = 'settled' | 'retried' | 'superseded';
