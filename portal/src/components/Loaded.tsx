import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorState } from './ErrorState.tsx';
import { Loading } from './Loading.tsx';

interface Props<Data> {
  readonly query: UseQueryResult<Data>;
  readonly rows?: number;
  children(data: Data): ReactNode;
}

/** What a query answered; until then that it loads, or why it cannot. */
export function Loaded<Data>({ query, rows = 6, children }: Props<Data>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error === null) return <Loading rows={rows} />;
  return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
}
