export interface CallResult {
  readonly succeeded: boolean;
  /** What it said, cut. */
  readonly said: string;
}

/** Of what it says, so much is kept. */
export const SAID_BYTES = 4_096;
