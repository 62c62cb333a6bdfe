/** A task that runs once at a time; whatever asks for it meanwhile is answered by one more run. */
export interface Coalesced {
  poke(): void;
  /** No new run begins; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

/** `run` answers null when done, or after how many milliseconds to try again. It must not reject. */
export function coalesce(run: () => Promise<number | null>): Coalesced {
  let asked = false;
  let stopped = false;
  let running: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;
  const loop = async (): Promise<void> => {
    while (asked && !stopped) {
      asked = false;
      clearTimeout(retry);
      const againMs = await run();
      if (againMs !== null && !stopped) retry = setTimeout(poke, againMs);
    }
    running = null;
  };
  const poke = (): void => {
    asked = true;
    if (!stopped) running ??= loop();
  };
  return {
    poke,
    stop: async () => {
      stopped = true;
      clearTimeout(retry);
      await running;
    },
  };
}
