import {
  type DeclaredAsn,
  type DeclaredHolding,
  type DeclaredOrganisation,
  type DeclaredService,
  ProblemError,
} from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { personClient } from '../../session/session.ts';

/** An organisation with all that it has. */
export interface Organisation extends Omit<DeclaredOrganisation, 'asns' | 'services' | 'prefixes'> {
  /** The tag of the organisation itself, to which a change of it is bound. */
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

/**
 * Binds changes to what a form shows: to the newest tag that was read while that was the same, so that forms of other
 * fields of the object do not get in each other's way.
 */
export function useTag(read: string | null, shown: unknown) {
  const now = JSON.stringify(shown);
  const known = useRef<Known>({ read, tag: read, shown: now });
  useEffect(() => {
    const { current } = known;
    const isSame = current.shown === null || current.shown === now;
    if (current.read !== read && isSame) known.current = { read, tag: read, shown: now };
  }, [read, now]);
  return async <Answer extends Tagged>(
    change: (how: { readonly ifMatch?: string }) => Promise<Answer>,
  ): Promise<Answer> => {
    const { tag } = known.current;
    const answer = await change(tag === null ? {} : { ifMatch: tag });
    known.current = { ...known.current, tag: answer.response.etag, shown: null };
    return answer;
  };
}

interface Known {
  readonly read: string | null;
  readonly tag: string | null;
  /** Null: it was changed, and is not read again yet. */
  readonly shown: string | null;
}
