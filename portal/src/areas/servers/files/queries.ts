import type { FileJob } from '@portcullis/client/index.ts';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useSession } from '../../../session/session.ts';
import { hasJobEnded } from './jobs.ts';

export interface Order {
  readonly sort: 'name' | 'size' | 'modified';
  readonly order: 'ascending' | 'descending';
}

/** Entries of a page; what a folder has more is read when it is scrolled to. */
const PAGE = 1_000;
const JOBS_MS = 1_000;

/** A folder as its node has it now. Below the key of the server, so that its events read it again. */
export function useFolder(uuid: string, path: string, { sort, order }: Order) {
  const { client } = useSession();
  return useInfiniteQuery({
    queryKey: ['server', uuid, 'files', path, sort, order],
    initialPageParam: 1,
    queryFn: ({ pageParam, signal }) =>
      client.listFiles(
        { slice: uuid, query: { path, sort, order, page: pageParam, per_page: PAGE } },
        { signal },
      ),
    getNextPageParam: ({ meta }) =>
      meta.current_page * meta.per_page < meta.total ? meta.current_page + 1 : undefined,
  });
}

export function useFileJobs(uuid: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['server', uuid, 'file-jobs'],
    async queryFn({ client: queries, queryKey, signal }) {
      const { data } = await client.listFileJobs({ slice: uuid }, { signal });
      const before = queries.getQueryData<readonly FileJob[]>(queryKey);
      // It wrote files after the folder was read, which is so of every job that outlives its request.
      if (before !== undefined && hasJobEnded(before, data))
        void queries.invalidateQueries({ queryKey: ['server', uuid, 'files'] });
      return data;
    },
    refetchInterval: ({ state }) =>
      state.data?.some((job) => job.state === 'running') === true ? JOBS_MS : false,
  });
}

export function useBin(uuid: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['server', uuid, 'bin'],
    queryFn: ({ signal }) => client.listDeletedFiles({ slice: uuid }, { signal }),
  });
}

export function useDiskUse(uuid: string, path: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['server', uuid, 'disk-use', path],
    queryFn: async ({ signal }) =>
      (await client.measureFiles({ slice: uuid, query: { path } }, { signal })).data,
    // Counting a large folder is work for its node.
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
}

export interface Wanted {
  readonly path: string;
  readonly by: 'name' | 'text';
  readonly words: string;
}

export function useFound(uuid: string, { path, by, words }: Wanted) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['files-found', uuid, path, by, words],
    enabled: words !== '',
    queryFn: ({ signal }) =>
      client.searchFiles(
        {
          slice: uuid,
          query: { path, limit: 200, ...(by === 'name' ? { name: words } : { text: words }) },
        },
        { signal },
      ),
    refetchOnWindowFocus: false,
  });
}
