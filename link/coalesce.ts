/** A task that runs once at a time. Calls of `poke` during a run cause one more run. */
export interface Coalesced {
  poke(): void;
  /** Starts no new run; resolves when the current one has ended. */
  stop(): Promise<void>;
}

/** `run` returns null when it is done, or the milliseconds until it is tried again. It must not reject. */
export function coalesce(run: () => Promise<number | null>): Coalesced {
  let requested = false;
  let stopped = false;
  let running: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;
  const loop = async (): Promise<void> => {
    while (requested && !stopped) {
      requested = false;
      clearTimeout(retry);
      const retryMs = await run();
      if (retryMs !== null && !stopped) retry = setTimeout(poke, retryMs);
    }
    running = null;
  };
  const poke = (): void => {
    requested = true;
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
