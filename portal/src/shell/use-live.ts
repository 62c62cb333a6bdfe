import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useSession } from '../session/session.ts';
import { staleQueries } from './stale-queries.ts';

/** Events of this time are one reading. */
const GATHER_MS = 150;

/**
 * Follows what happens, and reads again what it concerns. A hidden page follows nothing: browsers open few connections
 * to a host, which pages in the background would use up.
 */
export function useLive(): void {
  const { client, person, organisation } = useSession();
  const queries = useQueryClient();
  // An operator without an organisation has nothing to follow.
  const hasEvents = person === null || organisation !== null;
  useEffect(() => {
    if (!hasEvents) return undefined;
    let following: AbortController | null = null;
    let timer: number | undefined;
    const stale = new Map<string, readonly string[]>();
    const read = (): void => {
      timer = undefined;
      for (const queryKey of stale.values()) void queries.invalidateQueries({ queryKey });
      stale.clear();
    };
    const follow = async (signal: AbortSignal): Promise<void> => {
      for await (const event of client.events({ signal })) {
        for (const key of staleQueries(event)) stale.set(key.join(' '), key);
        if (stale.size > 0) timer ??= window.setTimeout(read, GATHER_MS);
      }
    };
    const changed = (): void => {
      if (document.hidden) {
        following?.abort();
        following = null;
      } else if (following === null) {
        following = new AbortController();
        // It ends when it is aborted or the session is over; the queries say so themselves.
        follow(following.signal).catch(() => {});
      }
    };
    changed();
    document.addEventListener('visibilitychange', changed);
    return () => {
      document.removeEventListener('visibilitychange', changed);
      window.clearTimeout(timer);
      following?.abort();
    };
  }, [client, queries, hasEvents]);
}
