import { EngineError } from './engine/engine.ts';

/**
 * Fails with `timeout` after so long, whatever the engine promises: nothing here may wait for ever. What was asked
 * goes on behind our back, so it must be harmless when it ends late.
 */
export async function bounded<T>(what: string, ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new EngineError('timeout', `The engine did not ${what} within ${ms / 1_000} s.`)),
    ms,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** What people are told: an engine's words are for them, of anything else they learn that it is our fault. */
export function sentenceOf(error: unknown): string {
  if (error instanceof EngineError) return error.message;
  return error instanceof Error ? `The node failed: ${error.message}` : 'The node failed.';
}
