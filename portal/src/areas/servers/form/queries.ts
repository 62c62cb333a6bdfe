import { useQuery } from '@tanstack/react-query';
import { personClient } from '../../../session/session.ts';

/** The interval of reading the state again, so that what is done on the host shows by itself. */
const LOOK_MS = 3_000;
const PROGRESS_MS = 1_000;

/** The library, and which nodes can run each egg now. */
export function useEggs() {
  return useQuery({
    queryKey: ['operator', 'eggs'],
    queryFn: async ({ signal }) => (await personClient.listEggs({}, { signal })).data,
    refetchInterval: LOOK_MS,
  });
}

/** An image while it is made. */
export function useImage(node: string, name: string | null) {
  const images = useQuery({
    queryKey: ['operator', 'images'],
    enabled: name !== null,
    queryFn: async ({ signal }) => (await personClient.listImages({}, { signal })).data,
    refetchInterval: PROGRESS_MS,
  });
  return images.data?.find((image) => image.node === node && image.name === name) ?? null;
}

/** The nodes with the addresses that they offer. */
export function useNodes() {
  return useQuery({
    queryKey: ['operator', 'fleet'],
    queryFn: async ({ signal }) => (await personClient.readFleetHealth({}, { signal })).data,
    select: ({ nodes }) => nodes,
  });
}
