import { useQuery } from '@tanstack/react-query';
import type { Eggs, OfferedEggs } from '@portcullis/client/index.ts';
import { personClient, useSession } from '../../session/session.ts';

/** A game that owners can choose. */
export type OfferedEgg = OfferedEggs['data'][number];
/** A game as operators see it. */
export type ListedEgg = Eggs['data'][number];

const LIBRARY_MS = 30_000;

/** The games that the operator offers. */
export function useOffered() {
  const { client } = useSession();
  return useQuery({
    queryKey: ['library', 'offered'],
    queryFn: async ({ signal }) => (await client.listOfferedEggs({}, { signal })).data,
    staleTime: LIBRARY_MS,
  });
}

/** Every game, for operators. */
export function useLibrary() {
  return useQuery({
    queryKey: ['operator', 'eggs'],
    queryFn: async ({ signal }) => (await personClient.listEggs({}, { signal })).data,
    refetchInterval: LIBRARY_MS,
  });
}

/** The eggs that operators added, as they are declared. */
export function useAdded() {
  return useQuery({
    queryKey: ['operator', 'library'],
    queryFn: async ({ signal }) => (await personClient.listLibraryEggs({}, { signal })).data,
    refetchInterval: LIBRARY_MS,
  });
}
