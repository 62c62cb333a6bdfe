import { ConnectionError, ProblemError } from '@portcullis/client/index.ts';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useSession } from '../../../session/session.ts';
import { type ConsoleNews, followConsole } from './follow-console.ts';

const READ_MS = 1_000;

export type ConsoleStatus = 'loading' | 'live' | 'silent' | Error;

type Lines = Extract<ConsoleNews, { readonly kind: 'lines' }>;

/** Follows the console of a server while the page is seen. `readNow` reads it without waiting. */
export function useConsole(
  uuid: string,
  onLines: (news: Lines) => void,
): { readonly status: ConsoleStatus; readNow(): void } {
  const { client } = useSession();
  const [status, setStatus] = useState<ConsoleStatus>('loading');
  const wake = useRef<() => void>(() => {});
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const pause = (): Promise<void> =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          document.removeEventListener('visibilitychange', seen);
          resolve();
        };
        const seen = (): void => {
          if (!document.hidden) done();
        };
        const timer = setTimeout(seen, READ_MS);
        document.addEventListener('visibilitychange', seen);
        signal.addEventListener('abort', done, { once: true });
        wake.current = done;
      });
    const read = async (lines: number) => {
      try {
        const query = { lines, colours: true };
        return (await client.readConsole({ slice: uuid, query }, { signal })).data;
      } catch (error) {
        signal.throwIfAborted();
        if (isFinal(error)) throw error;
        return { lines: null, last_number: null };
      }
    };
    const follow = async (): Promise<void> => {
      for await (const news of followConsole(read, pause)) {
        if (signal.aborted) return;
        setStatus(news.kind === 'lines' ? 'live' : 'silent');
        if (news.kind === 'lines') onLines(news);
      }
    };
    follow().catch((error: unknown) => {
      if (!signal.aborted) setStatus(error instanceof Error ? error : new Error(String(error)));
    });
    return () => stop.abort();
  }, [client, uuid, onLines]);
  return { status, readNow: useCallback(() => wake.current(), []) };
}

/** A control plane that restarts, or many requests at once, pass. */
function isFinal(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status < 500 && error.status !== 429;
  return !(error instanceof ConnectionError);
}
