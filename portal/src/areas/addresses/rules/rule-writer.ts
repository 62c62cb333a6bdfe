import type {
  AcceptedRule,
  KeyClient,
  NotedRule,
  SessionClient,
} from '@portcullis/client/index.ts';
import { inputsOf } from './rule-draft.ts';

const PER_DELETE = 100;

/** What was done, and how to take it back. */
export interface Written {
  readonly count: number;
  undo(): Promise<unknown>;
}

interface RuleWriter {
  /** All of them or none. */
  add(rules: readonly NotedRule[]): Promise<Written>;
  remove(rules: readonly AcceptedRule[]): Promise<Written>;
}

/** With an undo that brings notes back. */
export function personWriter(client: SessionClient, ip: string): RuleWriter {
  async function undo(generations: readonly (number | null)[]): Promise<void> {
    for (const generation of generations) {
      if (generation !== null) await client.undoChange({ ip, body: { generation } });
    }
  }
  return {
    async add(rules) {
      const { data, response } = await client.addRules({ ip, body: { rules } });
      return { count: data.created.rules.length, undo: () => undo([response.generation]) };
    },
    async remove(rules) {
      const generations = await deleteRules(client, ip, idsOf(rules));
      return { count: rules.length, undo: () => undo(generations) };
    },
  };
}

export function keyWriter(client: KeyClient, ip: string): RuleWriter {
  return {
    async add(rules) {
      const { data } = await client.addRules({ ip, body: { rules } });
      const ids = data.created.rules;
      return { count: ids.length, undo: () => deleteRules(client, ip, ids) };
    },
    async remove(rules) {
      await deleteRules(client, ip, idsOf(rules));
      const again = { rules: inputsOf(rules) };
      return { count: rules.length, undo: () => client.addRules({ ip, body: again }) };
    },
  };
}

/** The generations of what was deleted. */
async function deleteRules(
  client: KeyClient,
  ip: string,
  ids: readonly number[],
): Promise<number[]> {
  const generations: number[] = [];
  for (let from = 0; from < ids.length; from += PER_DELETE) {
    const body = { ids: ids.slice(from, from + PER_DELETE) };
    const { response } = await client.deleteRules({ ip, body });
    if (response.generation !== null) generations.push(response.generation);
  }
  return generations;
}

function idsOf(rules: readonly AcceptedRule[]): number[] {
  return rules.map(({ id }) => id);
}
