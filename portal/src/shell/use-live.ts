import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useHasOrganisation, useSession } from '../session/session.ts';
import { LiveFeed } from './live-feed.ts';

/** A shorter loss is not worth a word. */
const LOST_MS = 1_500;

/** Follows what happens as long as the shell shows. Returns whether the connection is lost. */
export function useLive(): { readonly isLost: boolean } {
  const { client } = useSession();
  const queries = useQueryClient();
  const [isLost, setLost] = useState(false);
  const hasEvents = useHasOrganisation();
  useEffect(() => {
    if (!hasEvents) return undefined;
    let timer: number | undefined;
    const onState = (state: 'open' | 'lost'): void => {
      window.clearTimeout(timer);
      if (state === 'open') setLost(false);
      else timer = window.setTimeout(() => setLost(true), LOST_MS);
    };
    const feed = new LiveFeed({ client, queries, onState });
    return () => {
      feed.stop();
      window.clearTimeout(timer);
      setLost(false);
    };
  }, [client, queries, hasEvents]);
  return { isLost };
}
