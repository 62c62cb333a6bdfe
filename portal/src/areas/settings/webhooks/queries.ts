import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useIsRemoved } from '../../../components/forms/use-write.ts';
import { usePeopleClient } from '../../../session/session.ts';

export const WEBHOOKS = ['webhooks'] as const;
const PER_PAGE = 20;
/** While something is on its way, and otherwise. */
const MOVING_MS = 2_000;
const RESTING_MS = 15_000;

export const EVENTS = [
  'attack.opened',
  'attack.mitigated',
  'attack.ended',
  'attack.looks_usual',
  'server.state',
  'server.crashed',
  'propagation.failed',
] as const;
/** Chats check no signature, so their webhooks have no secret that people need. */
export function isSigned(format: string): boolean {
  return format === 'standard';
}

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'skipped';

export function useWebhooks() {
  const client = usePeopleClient();
  return useQuery({
    queryKey: WEBHOOKS,
    queryFn: async ({ signal }) => (await client.listWebhooks({}, { signal })).data,
    refetchInterval: ({ state }) =>
      (state.data ?? []).some(({ pending }) => pending > 0) ? MOVING_MS : RESTING_MS,
  });
}

/** Deliveries of a webhook, newest first, in pages. */
export function useDeliveries(webhook: number, state: DeliveryState | null) {
  const client = usePeopleClient();
  return useInfiniteQuery({
    queryKey: [...WEBHOOKS, webhook, state],
    enabled: !useIsRemoved([...WEBHOOKS, webhook]),
    initialPageParam: null as number | null,
    queryFn: ({ pageParam, signal }) => {
      const query = {
        per_page: PER_PAGE,
        ...(state !== null && { state }),
        ...(pageParam !== null && { before: pageParam }),
      };
      return client.listWebhookDeliveries({ webhook, query }, { signal });
    },
    getNextPageParam: ({ data, links }) => (links.next === null ? null : (data.at(-1)?.id ?? null)),
    refetchInterval: ({ state: { data } }) =>
      data?.pages[0]?.data.some((each) => each.state === 'pending') === true
        ? MOVING_MS
        : RESTING_MS,
    placeholderData: keepPreviousData,
  });
}
