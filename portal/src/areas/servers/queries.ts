import { useQuery } from '@tanstack/react-query';
import { useIsRemoved } from '../../components/forms/use-write.ts';
import { useSession } from '../../session/session.ts';

/** Events bring changes at once (shell/use-live.ts); this is for what they miss. */
const LIST_MS = 15_000;
/** The interval of reading: what a server uses changes all the time, and its node is asked for it. */
const LIVE_MS = 2_500;

export function useServers({ enabled = true }: { readonly enabled?: boolean } = {}) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['servers'],
    enabled,
    queryFn: async ({ signal }) => (await client.listGameServerStatuses({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}

/** One server as its node answers now. */
export function useServer(uuid: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['server', uuid, 'live'],
    enabled: !useIsRemoved(['server', uuid]),
    queryFn: async ({ signal }) => (await client.readGameServer({ slice: uuid }, { signal })).data,
    refetchInterval: LIVE_MS,
  });
}

/** How far it is built, what is amiss with it, and its ports. */
export function useBuild(uuid: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['server', uuid, 'build'],
    enabled: !useIsRemoved(['server', uuid]),
    queryFn: async ({ signal }) =>
      (await client.readGameServerBuild({ slice: uuid }, { signal })).data,
    // Why a start failed comes without an event: it never became another state.
    refetchInterval: LIVE_MS,
  });
}

/** The last day; a sample is a minute. */
export function useHistory(uuid: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['server', uuid, 'history'],
    queryFn: ({ signal }) => client.readGameServerHistory({ slice: uuid }, { signal }),
    refetchInterval: LIST_MS,
  });
}
