import { useDocumentVisibility, useWindowEvent } from '@mantine/hooks';
import {
  matchQuery,
  type QueryClient,
  type QueryFilters,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useHasOrganisation, useSession } from '../session/session.ts';
import { FOLLOWED, staleQueries } from './stale-queries.ts';

/** A shorter loss is not worth a word. */
const LOST_MS = 1_500;
/** How often everything in view is read again: without a connection, and with one. */
const POLL_MS = 10_000;
const SLOW_POLL_MS = 120_000;
/** Events of this time are one reading. */
const GATHER_MS = 150;
/** Between two readings, however much happens. */
const PAUSE_MS = 1_000;

/**
 * Follows what happens, and reads again what it concerns; everything once the connection is open. A hidden page
 * follows nothing: browsers open few connections to a host, which pages in the background would use up.
 */
export function useLive(): { readonly isLost: boolean } {
  const { client } = useSession();
  const queries = useQueryClient();
  const [isLost, setLost] = useState(false);
  const hasEvents = useHasOrganisation();
  const isVisible = useDocumentVisibility() === 'visible';
  const shows = useShows();
  useEffect(() => {
    if (!hasEvents || !isVisible) return undefined;
    const stop = new AbortController();
    const { signal } = stop;
    // At once, not with the next rendering: the browser may keep a page that is left, which renders nothing, with its connections.
    window.addEventListener('pagehide', () => stop.abort(), { signal });
    const reader = createReader(queries);
    let lossTimer: number | undefined;
    let isConnected = false;
    const onConnection = (state: 'open' | 'lost'): void => {
      if (signal.aborted) return;
      isConnected = state === 'open';
      window.clearTimeout(lossTimer);
      if (isConnected) {
        setLost(false);
        // No stream has what happened between these readings and its opening.
        reader.noteAll();
      } else lossTimer = window.setTimeout(() => setLost(true), LOST_MS);
    };
    const follow = async (): Promise<void> => {
      for await (const event of client.events({ signal, onConnection })) {
        reader.note(staleQueries(event));
      }
    };
    // It ends when it is aborted or the session is over; the queries say so themselves.
    follow().catch(() => {
      isConnected = false;
    });
    let polledMs = performance.now();
    const poll = window.setInterval(() => {
      if (isConnected && performance.now() - polledMs < SLOW_POLL_MS) return;
      polledMs = performance.now();
      void queries.invalidateQueries({}, { cancelRefetch: false });
    }, POLL_MS);
    return () => {
      stop.abort();
      reader.stop();
      window.clearInterval(poll);
      window.clearTimeout(lossTimer);
      setLost(false);
    };
  }, [client, queries, hasEvents, isVisible, shows]);
  return { isLost };
}

/** How often the browser has shown this page again that it had kept. */
function useShows(): number {
  const [shows, setShows] = useState(0);
  useWindowEvent('pageshow', ({ persisted }) => {
    if (persisted) setShows((before) => before + 1);
  });
  return shows;
}

type Key = readonly string[];

interface Reader {
  /** Queries with these keys, or keys that begin with one of them. */
  note(keys: readonly Key[]): void;
  /** All that events are of and that was read until now, or is being read. */
  noteAll(): void;
  stop(): void;
}

/** Reads stale queries again, each once for all events that come close together. */
function createReader(queries: QueryClient): Reader {
  const stale = new Map<string, QueryFilters>();
  let timer: number | undefined;
  let readMs = -Infinity;
  const read = (): void => {
    timer = undefined;
    readMs = performance.now();
    const filters = [...stale.values()];
    stale.clear();
    void queries.invalidateQueries({
      predicate: (query) => filters.some((filter) => matchQuery(filter, query)),
    });
  };
  const plan = (): void => {
    if (stale.size === 0) return;
    const pauseMs = readMs + PAUSE_MS - performance.now();
    timer ??= window.setTimeout(read, Math.max(GATHER_MS, pauseMs));
  };
  return {
    note(keys) {
      for (const queryKey of keys) stale.set(queryKey.join(' '), { queryKey });
      plan();
    },
    noteAll() {
      const known = new Set(queries.getQueryCache().getAll());
      const predicate: QueryFilters['predicate'] = (query) =>
        known.has(query) && FOLLOWED.has(String(query.queryKey[0]));
      stale.set('known', { predicate });
      plan();
    },
    stop: () => window.clearTimeout(timer),
  };
}
