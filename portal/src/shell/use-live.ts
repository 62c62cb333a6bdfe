import { useDocumentVisibility, useWindowEvent } from '@mantine/hooks';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useHasOrganisation, useSession } from '../session/session.ts';
import { staleQueries } from './stale-queries.ts';

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
 * Follows what happens, and reads again what it concerns; everything after the connection was away. A hidden page
 * follows nothing: browsers open few connections to a host, which pages in the background would use up.
 */
export function useLive(): { readonly isLost: boolean } {
  const { client } = useSession();
  const queries = useQueryClient();
  const [isLost, setLost] = useState(false);
  const hasEvents = useHasOrganisation();
  const isVisible = useDocumentVisibility() === 'visible';
  const shows = useShows();
  /** Whose events were received before. */
  const connected = useRef<typeof client>(null);
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
        // Events before the first that was received are in no resumed stream.
        if (connected.current === client) reader.note([[]]);
        connected.current = client;
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

/** Reads stale queries again, those of events that come close together at once. */
function createReader(queries: QueryClient): { note(keys: readonly Key[]): void; stop(): void } {
  const stale = new Map<string, Key>();
  let timer: number | undefined;
  let readMs = -Infinity;
  const read = (): void => {
    timer = undefined;
    readMs = performance.now();
    for (const queryKey of stale.values()) void queries.invalidateQueries({ queryKey });
    stale.clear();
  };
  return {
    note(keys) {
      for (const key of keys) stale.set(key.join(' '), key);
      if (stale.size === 0) return;
      const pauseMs = readMs + PAUSE_MS - performance.now();
      timer ??= window.setTimeout(read, Math.max(GATHER_MS, pauseMs));
    },
    stop: () => window.clearTimeout(timer),
  };
}
