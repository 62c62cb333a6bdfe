import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { usePeopleClient } from '../../../session/session.ts';
import { showAccepted } from '../../../components/show-accepted.ts';
import { messages } from '../../../messages/index.ts';
import { useRefresh } from '../queries.ts';

const text = messages.history;

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

/** Takes back what one change did; what was changed since stays. */
export function useUndoChange(ip: string) {
  const client = usePeopleClient();
  const refresh = useRefresh(ip);
  return useMutation({
    mutationFn: (generation: number) => client.undoChange({ ip, body: { generation } }),
    onSuccess({ data }, generation) {
      refresh();
      showAccepted(client, text.undone(generation), data.generation);
    },
  });
}

/** Makes own rules and filters those that were there right after a change. */
export function useRestore(ip: string, generation: number) {
  const client = usePeopleClient();
  const refresh = useRefresh(ip);
  return useMutation({
    mutationFn: () => client.restoreAddress({ ip, body: { generation } }),
    onSuccess({ data }) {
      refresh();
      showAccepted(client, text.restored(generation), data.generation);
    },
  });
}
