import { useQuery } from '@tanstack/react-query';
import { usePeopleClient } from '../../../session/session.ts';

const LIST_MS = 15_000;

export function useGeoRules() {
  const client = usePeopleClient();
  return useQuery({
    queryKey: ['geo-rules'],
    queryFn: async ({ signal }) => (await client.listGeoRules({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}
