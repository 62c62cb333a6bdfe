import { useMutation } from '@tanstack/react-query';
import type { AcceptedRule, RuleInput } from '@portcullis/client/index.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { type AcceptedView, useRefresh } from '../queries.ts';
import { inputsOf } from './rule-draft.ts';
import { showUndo } from './show-undo.tsx';

const PER_DELETE = 100;
const text = messages.rules;

/** The writes of the rules of an address, each with its undo. */
export function useRuleWrites(ip: string) {
  const { client } = useSession();
  const refresh = useRefresh(ip);

  async function deleteIds(ids: readonly number[]): Promise<void> {
    for (let from = 0; from < ids.length; from += PER_DELETE) {
      await client.deleteRules({ ip, body: { ids: ids.slice(from, from + PER_DELETE) } });
    }
    refresh();
  }

  const create = useMutation({
    mutationFn: (body: RuleInput) => client.createRules({ ip, body }),
    onSuccess({ data }) {
      refresh();
      showUndo(text.created(data.created), () => deleteIds(data.ids));
    },
  });

  const remove = useMutation({
    mutationFn: (rules: readonly AcceptedRule[]) => deleteIds(rules.map(({ id }) => id)),
    onSuccess(_, rules) {
      showUndo(text.deleted(rules.length), async () => {
        for (const body of inputsOf(rules)) await client.createRules({ ip, body });
        refresh();
      });
    },
  });

  /** All of them or none: one replace, refused if anybody wrote to the address since it was read. */
  const paste = useMutation({
    mutationFn: ({ view, rules }: { view: AcceptedView; rules: readonly RuleInput[] }) => {
      const { data, etag } = view;
      // As they were read, so a protocol that this page does not know goes back as it came.
      const present = data.rules as readonly RuleInput[];
      const body = { rules: [...present, ...rules], filters: data.filters };
      return client.replaceAddress({ ip, body }, etag === null ? {} : { ifMatch: etag });
    },
    onSuccess({ data }) {
      refresh();
      showUndo(text.created(data.created.rules.length), () => deleteIds(data.created.rules));
    },
  });
  return { create, remove, paste };
}
