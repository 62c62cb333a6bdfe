import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSession } from '../../../session/session.ts';
import type { Draft } from './draft.ts';

const TYPING_MS = 250;
const PLACES_MS = 15_000;

/** The quota of own servers, and what is used of it. */
export function useQuota({ enabled = true }: { readonly enabled?: boolean } = {}) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['servers', 'quota'],
    enabled,
    queryFn: async ({ signal }) => (await client.readServerQuota({}, { signal })).data,
  });
}

/** The nodes, and whether a server of this game and size fits on each. */
export function usePlaces({ egg, image, limits }: Pick<Draft, 'egg' | 'image' | 'limits'>) {
  const { client } = useSession();
  const [{ memory, cpu, disk }] = useDebouncedValue(limits, TYPING_MS);
  return useQuery({
    queryKey: ['servers', 'places', egg, image, memory, cpu, disk],
    enabled: egg !== '',
    placeholderData: keepPreviousData,
    refetchInterval: PLACES_MS,
    queryFn: async ({ signal }) => {
      const body = { egg, image, limits: { memory, cpu, disk } };
      return (await client.findServerPlaces({ body }, { signal })).data;
    },
  });
}
