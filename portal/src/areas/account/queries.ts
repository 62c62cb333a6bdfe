import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { personClient } from '../../session/session.ts';

const ACCOUNT = ['account'] as const;

/** Second factors and passkeys of whoever is signed in. */
export function useAccount() {
  return useQuery({
    queryKey: ACCOUNT,
    queryFn: async ({ signal }) => (await personClient.readAccount({}, { signal })).data,
  });
}

export function useAccountSessions() {
  return useQuery({
    queryKey: [...ACCOUNT, 'sessions'],
    queryFn: async ({ signal }) => (await personClient.listSessions({}, { signal })).data,
  });
}

/** Reads all of the account again after a write. */
export function useRefreshAccount(): () => void {
  const queries = useQueryClient();
  return useCallback(() => void queries.invalidateQueries({ queryKey: ACCOUNT }), [queries]);
}
