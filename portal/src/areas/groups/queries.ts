import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Group, GroupInput } from '@portcullis/client/index.ts';
import { useDebouncedValue } from '@mantine/hooks';
import { showAccepted } from '../../components/show-accepted.ts';
import { messages } from '../../messages/index.ts';
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

export function useFilterTypes() {
  const client = usePeopleClient();
  return useQuery({
    queryKey: ['filter-types'],
    queryFn: async ({ signal }) => (await client.listFilterTypes({}, { signal })).data,
    staleTime: Infinity,
  });
}

/** What saving would change; the service tries it and takes it back. `body` null: nothing to try. */
export function usePreview(group: number | null, body: GroupInput | null) {
  const client = usePeopleClient();
  const [settled] = useDebouncedValue(body, TYPING_MS);
  const query = useQuery({
    queryKey: ['group-preview', group, settled],
    enabled: settled !== null && body !== null,
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

/** Saves what is given whole; null: a new group. */
export function useSaveGroup(group: number | null) {
  const client = usePeopleClient();
  const landed = useLanded();
  return useMutation({
    mutationFn: (body: GroupInput) =>
      group === null ? client.createGroup({ body }) : client.saveGroup({ group, body }),
    onSuccess: ({ data }, { name }) => landed(name, data.generation),
  });
}

export function useDeleteGroup({ id, name }: Group, onDeleted: () => void) {
  const client = usePeopleClient();
  const landed = useLanded();
  return useMutation({
    mutationFn: () => client.deleteGroup({ group: id }),
    onSuccess({ data }) {
      landed(name, data.generation);
      onDeleted();
    },
  });
}

function useLanded(): (name: string, generation: number) => void {
  const client = usePeopleClient();
  const queries = useQueryClient();
  return (name, generation) => {
    for (const key of ['groups', 'address', 'addresses', 'history']) {
      void queries.invalidateQueries({ queryKey: [key] });
    }
    showAccepted(client, messages.group.saved(name), generation);
  };
}
