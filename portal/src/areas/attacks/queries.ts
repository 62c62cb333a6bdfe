import { keepPreviousData, useQuery } from '@tanstack/react-query';
import {
  type Attack,
  type AttackDetail,
  type AttackPage,
  type KeyClient,
  PermissionError,
} from '@portcullis/client/index.ts';
import { useSession } from '../../session/session.ts';
import { type AttackSearch, type Where, windowOf } from './attack-search.ts';

export interface AttackList {
  /** Newest first. */
  readonly attacks: readonly Attack[];
  readonly meta: AttackPage['meta'];
}

const PER_PAGE = 100;
/** Its evidence is renewed this often, without an event. */
const EVIDENCE_MS = 10_000;

type Query = NonNullable<Parameters<KeyClient['pages']['listAttacks']>[0]>['query'];

async function loadAttacks(
  client: KeyClient,
  query: Query,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<AttackList> {
  const attacks: Attack[] = [];
  let meta: AttackPage['meta'] | null = null;
  const whole = { query: { ...query, per_page: PER_PAGE } };
  for await (const page of client.pages.listAttacks(whole, { signal })) {
    attacks.push(...page.data);
    meta = page.meta;
    if (attacks.length >= limit) break;
  }
  if (meta === null) throw new Error('a list of attacks has at least one page');
  return { attacks, meta };
}

/** The newest attacks of a window, at most `limit`. */
export function useAttackList(search: AttackSearch, where: Where, limit: number) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['attacks', 'list', search, where, limit],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const window = windowOf(search, Date.now());
      const ongoing = search.ongoing === true && { ongoing: true };
      return loadAttacks(client, { ...window, ...where, ...ongoing }, { limit, signal });
    },
  });
}

const MAX_OF_DAY = 1_000;
const DAY_MS = 86_400_000;

/** Attacks of the last day, on one address or on all; null where they may not be seen. */
export function useAttacksOfDay(ip?: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['attacks', 'day', ip ?? 'all'],
    queryFn: async ({ signal }): Promise<readonly Attack[] | null> => {
      const from = new Date(Date.now() - DAY_MS).toISOString();
      const query = { from, ...(ip !== undefined && { ip }) };
      try {
        return (await loadAttacks(client, query, { limit: MAX_OF_DAY, signal })).attacks;
      } catch (error) {
        if (error instanceof PermissionError) return null;
        throw error;
      }
    },
  });
}

export type AttackView = AttackDetail['data'];

export function useAttack(id: number) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['attack', id],
    queryFn: async ({ signal }): Promise<AttackView> => {
      const { data } = await client.readAttack({ attack: id }, { signal });
      return data;
    },
    refetchInterval: ({ state }) => (state.data?.attack.status === 'ongoing' ? EVIDENCE_MS : false),
  });
}
