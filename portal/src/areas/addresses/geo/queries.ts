import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { GeoRuleInput } from '@portcullis/client/index.ts';
import { showAccepted } from '../../../components/show-accepted.ts';
import { messages } from '../../../messages/index.ts';
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

/** Saves a geo rule as given; null: a new one. */
export function useSaveGeoRule() {
  const client = usePeopleClient();
  const landed = useLanded();
  return useMutation({
    mutationFn: ({ id, body }: { readonly id: number | null; readonly body: GeoRuleInput }) =>
      id === null ? client.createGeoRule({ body }) : client.saveGeoRule({ geo_rule: id, body }),
    onSuccess: ({ data }) => landed(data.generation),
  });
}

export function useDeleteGeoRule(id: number) {
  const client = usePeopleClient();
  const landed = useLanded();
  return useMutation({
    mutationFn: () => client.deleteGeoRule({ geo_rule: id }),
    onSuccess: ({ data }) => landed(data.generation),
  });
}

function useLanded(): (generation: number) => void {
  const client = usePeopleClient();
  const queries = useQueryClient();
  return (generation) => {
    for (const key of ['geo-rules', 'address', 'explain', 'history']) {
      void queries.invalidateQueries({ queryKey: [key] });
    }
    showAccepted(client, messages.geo.saved, generation);
  };
}
