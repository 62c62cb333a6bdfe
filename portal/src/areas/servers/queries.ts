import { useQuery } from '@tanstack/react-query';
import { useSession } from '../../session/session.ts';

/** Events bring changes at once (shell/use-live.ts); this is for what they miss. */
const LIST_MS = 15_000;

export function useServers() {
  const { client } = useSession();
  return useQuery({
    queryKey: ['servers'],
    queryFn: async ({ signal }) => (await client.listGameServerStatuses({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
}
