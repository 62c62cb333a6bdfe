import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Takes the port that every first server prefers (`cli/up/first-server.ts`), so that the first servers of tests that run
 * at once have others. Returns what frees it.
 */
export async function leaveUsualPort(): Promise<() => void> {
  const holder = createServer();
  const isHeld = once(holder, 'listening').catch(() => {
    // If it is in use, then by another test that does the same.
  });
  holder.listen(4000, '0.0.0.0');
  await isHeld;
  return () => holder.close();
}
