/** The longest time that a disk may delay a mitigation. */
const TIMEOUT_MS = 500;

/** Resolves with the work or after the timeout; the work then continues by itself. */
export async function withTimeout(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, TIMEOUT_MS)));
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
