import { useQueryClient } from '@tanstack/react-query';
import type { AcceptedRule, NotedRule } from '@portcullis/client/index.ts';
import type { Said } from '../../../components/forms/use-write.ts';
import { showAccepted, showOffer } from '../../../components/forms/toasts.tsx';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { findStillOpen } from '../blocked/still-open.ts';
import { useUndo } from '../undo.ts';
import { inputsOf } from './rule-draft.ts';

const text = messages.rules;
const PER_DELETE = 100;

/** The writes of the rules of an address: each says what it did, and how to take it back. */
export function useRuleWrites(ip: string) {
  const { client } = useSession();
  const undo = useUndo(ip);
  const offerBlock = useBlockOffer(ip);
  const erase = async (ids: readonly number[]): Promise<(number | null)[]> => {
    const generations: (number | null)[] = [];
    for (let from = 0; from < ids.length; from += PER_DELETE) {
      const body = { ids: ids.slice(from, from + PER_DELETE) };
      generations.push((await client.deleteRules({ ip, body })).response.generation);
    }
    return generations;
  };
  return {
    /** All of them or none. */
    async add(rules: readonly NotedRule[]): Promise<Said> {
      const { data, message, response } = await client.addRules({ ip, body: { rules } });
      offerBlock(message);
      const ids = data.created.rules;
      return {
        text: text.created(ids.length),
        undo: undo([response.generation], () => erase(ids)),
      };
    },
    async remove(rules: readonly AcceptedRule[]): Promise<Said> {
      const generations = await erase(rules.map(({ id }) => id));
      return {
        text: text.deleted(rules.length),
        undo: undo(generations, () => client.addRules({ ip, body: { rules: inputsOf(rules) } })),
      };
    },
  };
}

/** Says which denied sources an allow rule still lets in, and offers to block each on this address. */
function useBlockOffer(ip: string): (message: string) => void {
  const { client } = useSession();
  const queries = useQueryClient();
  const { blockNow, done, failed } = messages.blocked;
  return (message) => {
    for (const { source, sentence } of findStillOpen(message)) {
      showOffer(sentence, blockNow, failed, async () => {
        const body = { sources: [source], target: ip };
        const { data, response } = await client.blockSources({ body });
        void queries.invalidateQueries();
        if (response.generation !== null)
          showAccepted(client, { text: done(data.changed), generation: response.generation, ip });
      });
    }
  };
}
