import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { GroupInput } from '@portcullis/client/index.ts';
import { useDebouncedValue } from '@mantine/hooks';
import { useIsRemoved } from '../../components/forms/use-write.ts';
import { usePeopleClient } from '../../session/session.ts';

const LIST_MS = 15_000;
/** So that a word typed is one preview. */
const TYPING_MS = 350;

export function useGroups() {
  const client = usePeopleClient();
  return useQuery({
    queryKey: ['groups'],
    queryFn: async ({ signal }) => (await client.listGroups({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}

/**
 * Puts the groups as they are after a write in place of those before it, which a form would show until then, and base the
 * next edit on. Never rejects: the page reads them again anyway, and says what is wrong.
 */
export function useReadGroupsAgain(): () => Promise<void> {
  const client = usePeopleClient();
  const queries = useQueryClient();
  const queryKey = ['groups'];
  return async () => {
    const read = await client.listGroups({}).catch(() => null);
    if (read === null) return;
    // A reading may have begun before the write.
    await queries.cancelQueries({ queryKey });
    queries.setQueryData(queryKey, read.data);
  };
}

/** The effect of saving; the service tries it and takes it back. `body` null: nothing to try. */
export function usePreview(group: number | null, body: GroupInput | null) {
  const client = usePeopleClient();
  const [settled] = useDebouncedValue(body, TYPING_MS);
  const isRemoved = useIsRemoved(['group-preview', group]);
  const query = useQuery({
    queryKey: ['group-preview', group, settled],
    enabled: settled !== null && body !== null && !isRemoved,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      if (settled === null) throw new Error('there is nothing to preview');
      const tried =
        group === null
          ? await client.previewNewGroup({ body: settled }, { signal })
          : await client.previewGroup({ group, body: settled }, { signal });
      return tried.data;
    },
    placeholderData: (previous) => previous,
  });
  /** Whether it speaks of what is in the form now. */
  const isCurrent = settled === body && !query.isFetching;
  return { ...query, isCurrent };
}
