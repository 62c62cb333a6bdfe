import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Attack, AttackDetail, AttackPage } from '@portcullis/client/index.ts';
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

/** The newest attacks of a window, at most `limit`. */
export function useAttackList(search: AttackSearch, where: Where, limit: number) {
  const { client } = useSession();
  return useQuery({
    queryKey: ['attacks', 'list', search, where, limit],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<AttackList> => {
      const query = {
        ...windowOf(search, Date.now()),
        ...where,
        ...(search.ongoing === true && { ongoing: true }),
        per_page: PER_PAGE,
      };
      const attacks: Attack[] = [];
      let meta: AttackPage['meta'] | null = null;
      for await (const page of client.pages.listAttacks({ query }, { signal })) {
        attacks.push(...page.data);
        meta = page.meta;
        if (attacks.length >= limit) break;
      }
      if (meta === null) throw new Error('a list of attacks has at least one page');
      return { attacks, meta };
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
