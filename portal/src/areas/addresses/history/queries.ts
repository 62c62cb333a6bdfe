import { useInfiniteQuery } from '@tanstack/react-query';
import { usePeopleClient } from '../../../session/session.ts';

export function useHistory(ip: string) {
  const client = usePeopleClient();
  return useInfiniteQuery({
    queryKey: ['history', ip],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam, signal }) =>
      client.readHistory(
        { ip, query: pageParam === null ? {} : { before: pageParam } },
        { signal },
      ),
    getNextPageParam: ({ data, links }) =>
      links.next === null ? null : (data.at(-1)?.generation ?? null),
  });
}
