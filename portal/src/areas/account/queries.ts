import { useQuery } from '@tanstack/react-query';
import { personClient } from '../../session/session.ts';

/** Second factors and passkeys of whoever is signed in. */
export function useAccount() {
  return useQuery({
    queryKey: ['account'],
    queryFn: async ({ signal }) => (await personClient.readAccount({}, { signal })).data,
  });
}
