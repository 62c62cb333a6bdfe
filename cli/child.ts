import type { ChildMessage } from './up/supervised.ts';

/** The part of a long-running command in its process, whether `up` supervises it or a person started it. */

/** Tells a supervisor, if there is one, that we are ready. */
export function announceReady(facts: ChildMessage['facts']): void {
  const message: ChildMessage = { kind: 'ready', facts };
  if (process.connected) process.send?.(message);
}

/**
 * Resolves with the reason when this process should stop: a signal, or a supervisor that is gone
 * (killed with SIGKILL it can say nothing: its end of the channel closes).
 */
export function stopRequested(): Promise<string> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve('SIGINT'));
    process.once('SIGTERM', () => resolve('SIGTERM'));
    process.once('disconnect', () => resolve('its supervisor is gone'));
  });
}
