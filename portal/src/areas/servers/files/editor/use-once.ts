import { useEffect, useState } from 'react';

interface Once<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  refetch(): void;
}

/**
 * Reads something once, and again only when it is asked to. What is edited must not change beneath the editor, as the
 * queries of the page do.
 */
export function useOnce<Data>(read: (signal: AbortSignal) => Promise<Data>): Once<Data> {
  const [state, setState] = useState<{ readonly data?: Data; readonly error: Error | null }>({
    error: null,
  });
  const [reads, setReads] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState({ error: null });
    read(stop.signal).then(
      (data) => setState({ data, error: null }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState({ error: error instanceof Error ? error : new Error(String(error)) });
      },
    );
    return () => stop.abort();
    // The file is that of the component, which has another key for another one.
  }, [reads]);
  return { data: state.data, error: state.error, refetch: () => setReads((before) => before + 1) };
}
