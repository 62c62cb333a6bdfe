import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { RuleNote } from '@portcullis/client/index.ts';
import { useMemo } from 'react';
import { usePeopleClient, useSession } from '../../../session/session.ts';

export type Notes = ReadonlyMap<number, RuleNote>;

const LIST_MS = 15_000;

/** The notes of the rules of an address by id of the rule, and their tags; null with an API key, which has none. */
export function useNotes(ip: string): {
  readonly notes: Notes;
  readonly knownTags: readonly string[] | null;
} {
  const { people } = useSession();
  const { data } = useQuery({
    queryKey: ['notes', ip],
    enabled: people !== null,
    refetchInterval: LIST_MS,
    queryFn: async ({ signal }) => (await people?.listRuleNotes({ ip }, { signal }))?.data ?? [],
  });
  return useMemo(() => {
    const tags = new Set(data?.flatMap((note) => note.tags));
    return {
      notes: new Map(data?.map(({ rule, ...note }) => [rule, note])),
      knownTags: people === null ? null : [...tags].toSorted(),
    };
  }, [data, people]);
}

export function useSaveNote(ip: string, rule: number) {
  const client = usePeopleClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: RuleNote) => client.saveRuleNote({ rule, body }),
    onSuccess() {
      void queries.invalidateQueries({ queryKey: ['notes', ip] });
      void queries.invalidateQueries({ queryKey: ['noted-addresses'] });
    },
  });
}
