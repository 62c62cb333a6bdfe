import type { ReactNode } from 'react';
import { ErrorState } from './ErrorState.tsx';
import { Loading } from './Loading.tsx';

/** The part that this reads of a query. */
export interface Query<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  refetch(): unknown;
}

interface Props<Data> {
  readonly query: Query<Data>;
  readonly rows?: number;
  /** Until there is an answer, a card stands in its place. */
  readonly inCard?: boolean;
  children(data: Data): ReactNode;
}

/** The answer of a query; until then the page says that it loads, or why it cannot. */
export function Loaded<Data>({ query, rows = 6, inCard = false, children }: Props<Data>) {
  if (query.data !== undefined) return children(query.data);
  const waiting =
    query.error === null ? (
      <Loading rows={rows} />
    ) : (
      <ErrorState error={query.error} onRetry={() => void query.refetch()} />
    );
  return inCard ? <section className="card">{waiting}</section> : waiting;
}
