/**
 * Runs `work` at fixed intervals without drift, never twice at a time. After a long run it pauses for twice the
 * duration; missed ticks are skipped.
 */
export function tick(
  periodMs: number,
  work: () => Promise<void>,
): { readonly stop: () => Promise<void> } {
  const beginMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let stopped = false;
  /** The number of the next tick, because a timer may fire early. */
  let next = 0;
  const run = async (): Promise<void> => {
    const startMs = performance.now();
    await work();
    const endMs = performance.now();
    running = null;
    if (!stopped) plan(endMs + (endMs - startMs) * 2, endMs);
  };
  const plan = (earliestMs: number, nowMs: number): void => {
    next = Math.max(next + 1, Math.ceil((earliestMs - beginMs) / periodMs));
    const atMs = beginMs + next * periodMs;
    timer = setTimeout(
      () => {
        running = run();
      },
      Math.ceil(atMs - nowMs),
    );
  };
  plan(beginMs, beginMs);
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
