import { useQuery } from '@tanstack/react-query';
import type { Organisations } from '@portcullis/client/index.ts';
import { personClient } from '../../session/session.ts';

export type Organisation = Organisations['data'][number];

export const LIST_MS = 15_000;

export function useOrganisations() {
  return useQuery({
    queryKey: ['operator', 'organisations'],
    queryFn: async ({ signal }) => (await personClient.listOrganisations({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}
