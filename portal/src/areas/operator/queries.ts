import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { NewLink, Organisations, People } from '@portcullis/client/index.ts';
import { useCallback } from 'react';
import { personClient } from '../../session/session.ts';

export type Organisation = Organisations['data'][number];
export type KnownPerson = People['data'][number];
export type MadeLink = NewLink['data'] & { readonly email: string };

const FLEET_MS = 5_000;
const LIST_MS = 15_000;

export function useOrganisations() {
  return useQuery({
    queryKey: ['operator', 'organisations'],
    queryFn: async ({ signal }) => (await personClient.listOrganisations({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}

export function usePeople() {
  return useQuery({
    queryKey: ['operator', 'people'],
    queryFn: async ({ signal }) => (await personClient.listPeople({}, { signal })).data,
  });
}

/** Links that nobody used yet. */
export function useLinks() {
  return useQuery({
    queryKey: ['operator', 'links'],
    queryFn: async ({ signal }) => (await personClient.listLinks({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}

export function useFleet() {
  return useQuery({
    queryKey: ['operator', 'fleet'],
    queryFn: async ({ signal }) => (await personClient.readFleetHealth({}, { signal })).data,
    refetchInterval: FLEET_MS,
  });
}

/** Reads what operators see again after a write. */
export function useRefreshOperator(): () => void {
  const queries = useQueryClient();
  return useCallback(() => void queries.invalidateQueries({ queryKey: ['operator'] }), [queries]);
}
