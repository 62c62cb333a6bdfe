import { useQuery } from '@tanstack/react-query';
import { useDebouncedValue } from '@mantine/hooks';
import type { RuleNote, SessionClient } from '@portcullis/client/index.ts';
import { useMemo } from 'react';
import type { Tags } from '../address-rows.ts';
import { useSession } from '../../../session/session.ts';

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

const NO_TAGS: Tags = new Map();
const NOTHING: ReadonlySet<string> = new Set();
/** So that a word typed is one search. */
const TYPING_MS = 300;

/** Addresses with notes or tags, those that contain the search, with their tags. */
async function loadNoted(
  client: SessionClient | null,
  search: string | null,
  signal: AbortSignal,
): Promise<(readonly [string, readonly string[]])[]> {
  const found: (readonly [string, readonly string[]])[] = [];
  if (client === null) return found;
  const query = search === null ? {} : { search };
  for await (const { data } of client.pages.listNotedAddresses({ query }, { signal })) {
    found.push(...data.map(({ ip, tags }) => [ip, tags] as const));
  }
  return found;
}

/** The tags of all addresses; none with an API key. */
export function useTags(): Tags {
  const { people } = useSession();
  const { data } = useQuery({
    queryKey: ['noted-addresses'],
    enabled: people !== null,
    refetchInterval: LIST_MS,
    queryFn: ({ signal }) => loadNoted(people, null, signal),
  });
  return useMemo(() => (data === undefined ? NO_TAGS : new Map(data)), [data]);
}

/** The addresses where a note contains what is typed. */
export function useFoundByNote(search: string): ReadonlySet<string> {
  const { people } = useSession();
  const [settled] = useDebouncedValue(search.trim(), TYPING_MS);
  const { data } = useQuery({
    queryKey: ['noted-addresses', settled],
    enabled: people !== null && settled !== '',
    queryFn: ({ signal }) => loadNoted(people, settled, signal),
  });
  return useMemo(() => (data === undefined ? NOTHING : new Set(data.map(([ip]) => ip))), [data]);
}
