import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** The timeout for any state, including the first start of a database. */
const LIMIT_MS = 100_000;

/** Resolves when it holds, and fails after the limit. */
export async function eventually(
  what: string,
  holds: () => Promise<boolean>,
  limitMs = LIMIT_MS,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `timed out: ${what}`);
    await delay(50);
  }
}
