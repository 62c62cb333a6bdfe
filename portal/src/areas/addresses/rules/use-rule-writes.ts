import { useMutation } from '@tanstack/react-query';
import type { AcceptedRule, NotedRule } from '@portcullis/client/index.ts';
import { useMemo } from 'react';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { useRefresh } from '../queries.ts';
import { keyWriter, personWriter, type Written } from './rule-writer.ts';
import { showUndo } from '../../../components/show-undo.tsx';

const text = messages.rules;

/** The writes of the rules of an address, each with its undo. */
export function useRuleWrites(ip: string) {
  const { client, people } = useSession();
  const refresh = useRefresh(ip);
  const writer = useMemo(
    () => (people === null ? keyWriter(client, ip) : personWriter(people, ip)),
    [client, people, ip],
  );
  const done = (say: (count: number) => string) => ({
    onSuccess({ count, undo }: Written) {
      refresh();
      showUndo(say(count), () => undo().then(refresh));
    },
  });
  const create = useMutation({
    mutationFn: (rule: NotedRule) => writer.add([rule]),
    ...done(text.created),
  });
  const paste = useMutation({
    mutationFn: (rules: readonly NotedRule[]) => writer.add(rules),
    ...done(text.created),
  });
  const remove = useMutation({
    mutationFn: (rules: readonly AcceptedRule[]) => writer.remove(rules),
    ...done(text.deleted),
  });
  return { create, remove, paste };
}
