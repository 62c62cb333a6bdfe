import {
  type DeclaredAsn,
  type DeclaredHolding,
  type DeclaredOrganisation,
  type DeclaredService,
  ProblemError,
} from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { personClient } from '../../session/session.ts';

/** An organisation with all that it has. */
export interface Organisation extends Omit<DeclaredOrganisation, 'asns' | 'services' | 'prefixes'> {
  /** Of the organisation itself: what a change of it is bound to. */
  readonly etag: string | null;
  readonly asns: readonly DeclaredAsn[];
  readonly services: readonly DeclaredService[];
  /** Present and future ones. */
  readonly holdings: readonly DeclaredHolding[];
}

export const LIST_MS = 15_000;

export function useOrganisations() {
  return useQuery({
    queryKey: ['operator', 'organisations'],
    queryFn: async ({ signal }) => (await personClient.listOrganisations({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}

/** Null: there is none. */
export function useOrganisation(slug: string) {
  return useQuery({
    queryKey: ['operator', 'organisations', slug],
    queryFn: ({ signal }) => readWhole(slug, signal),
    refetchInterval: LIST_MS,
  });
}

async function readWhole(slug: string, signal: AbortSignal): Promise<Organisation | null> {
  try {
    const [{ data, response }, asns, services, holdings] = await Promise.all([
      personClient.readOrganisation({ slug }, { signal }),
      personClient.listAsns({ query: { organisation: slug } }, { signal }),
      personClient.listServices({ organisation: slug }, { signal }),
      personClient.listHoldings({ organisation: slug }, { signal }),
    ]);
    return {
      ...data,
      etag: response.etag,
      asns: asns.data,
      services: services.data,
      holdings: holdings.data,
    };
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'not_found') return null;
    throw error;
  }
}

/** An object as it is when its form opens, with the tag that a change of it is bound to. */
export function useDeclared<Answer>(
  key: readonly unknown[],
  read: (how: { readonly signal: AbortSignal }) => Promise<Answer>,
) {
  return useQuery({
    queryKey: ['operator', 'declared', ...key],
    queryFn: ({ signal }) => read({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}

interface Tagged {
  readonly response: { readonly etag: string | null };
}

/** Binds changes to what the form shows: to the tag that was read, then to that of the last answer. */
export function useTag(read: string | null) {
  const tag = useRef(read);
  return async <Answer extends Tagged>(
    change: (how: { readonly ifMatch?: string }) => Promise<Answer>,
  ): Promise<Answer> => {
    const answer = await change(tag.current === null ? {} : { ifMatch: tag.current });
    tag.current = answer.response.etag;
    return answer;
  };
}
