/**
 * The number of runs of a property or of a test that kills processes: the number given, times
 * `PORTCULLIS_TEST_REPEAT`, which `npm run soak` sets.
 */
export function repeated(runs: number): number {
  return Math.ceil(runs * Number(process.env['PORTCULLIS_TEST_REPEAT'] ?? 1));
}

/** Whether `npm run soak` runs, which tries every case where CI tries one of each kind. */
export function isSoak(): boolean {
  return process.env['PORTCULLIS_TEST_REPEAT'] !== undefined;
}
