import type {
  AcceptedRule,
  KeyClient,
  NotedRule,
  RuleInput,
  SessionClient,
} from '@portcullis/client/index.ts';
import type { AcceptedView } from '../queries.ts';
import { inputsOf } from './rule-draft.ts';

const PER_DELETE = 100;

/** What was done, and how to take it back. */
export interface Written {
  readonly count: number;
  undo(): Promise<unknown>;
}

interface RuleWriter {
  create(rule: NotedRule): Promise<Written>;
  /** All of them or none. */
  paste(view: AcceptedView, rules: readonly RuleInput[]): Promise<Written>;
  remove(rules: readonly AcceptedRule[]): Promise<Written>;
}

/** With notes, and an undo that brings these back. */
export function personWriter(client: SessionClient, ip: string): RuleWriter {
  async function undo(generations: readonly number[]): Promise<void> {
    for (const generation of generations) await client.undoChange({ ip, body: { generation } });
  }
  async function create(rules: readonly NotedRule[]): Promise<Written> {
    const { data } = await client.createNotedRules({ ip, body: { rules } });
    return { count: data.created.rules.length, undo: () => undo([data.generation]) };
  }
  return {
    create: (rule) => create([rule]),
    paste: (_view, rules) => create(rules),
    async remove(rules) {
      const generations = await deleteRules(client, ip, idsOf(rules));
      return { count: rules.length, undo: () => undo(generations) };
    },
  };
}

export function keyWriter(client: KeyClient, ip: string): RuleWriter {
  const undoOf = (ids: readonly number[]) => () => deleteRules(client, ip, ids);
  return {
    async create(rule) {
      const { data } = await client.createRules({ ip, body: rule });
      return { count: data.created, undo: undoOf(data.ids) };
    },
    /** One replace, refused if anybody wrote to the address since it was read. */
    async paste({ data, etag }, rules) {
      // As they were read, so a protocol that this page does not know goes back as it came.
      const present = data.rules as readonly RuleInput[];
      const body = { rules: [...present, ...rules], filters: data.filters };
      const done = await client.replaceAddress(
        { ip, body },
        etag === null ? {} : { ifMatch: etag },
      );
      const ids = done.data.created.rules;
      return { count: ids.length, undo: undoOf(ids) };
    },
    async remove(rules) {
      await deleteRules(client, ip, idsOf(rules));
      return {
        count: rules.length,
        async undo() {
          for (const body of inputsOf(rules)) await client.createRules({ ip, body });
        },
      };
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
