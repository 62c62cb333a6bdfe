/** So long a disk may hold up a mitigation. */
const PATIENCE_MS = 500;

/** Resolves with the work, or when it takes too long; then it goes on by itself. */
export async function withPatience(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
