export interface CallResult {
  readonly succeeded: boolean;
  /** Its output, cut. */
  readonly said: string;
}

/** The kept length of the output. */
export const OUTPUT_BYTES = 4_096;
