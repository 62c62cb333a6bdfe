import { BASELINE, type BaselineObject } from '@portcullis/contract/schemas/declared/baseline.ts';
import {
  familyOf,
  type RuleContent,
  ruleIdentity,
} from '@portcullis/core/firewall/rules/content.ts';
import {
  describeRule,
  describeRules,
  joinPorts,
} from '@portcullis/core/firewall/rules/describe.ts';
import { difference } from '@portcullis/core/firewall/rules/difference.ts';
import { portExpression } from '@portcullis/core/net/ports.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import { type Batch, UNSTAMPED } from '../../fleet/batch.ts';
import { showCidr } from '../forms.ts';
import {
  APPENDED,
  type Current,
  defineKind,
  type FilePart,
  type Refuse,
  type Spread,
  type Wanted,
  type Written,
} from '../kind.ts';
import { plainPorts, readRules } from './rule-entries.ts';

type Rule = BaselineObject['rules'][number];

interface Facts {
  readonly rows: readonly Row[];
}

interface Row extends RuleContent {
  readonly id: number;
}

const MAX_PORTS = 101;

/** The operator's own rules of a prefix. */
export const baseline = defineKind<typeof BASELINE, BaselineObject, Facts>(BASELINE, {
  place: '/baseline/*',
  key: ({ prefix }) => prefix,
  refersTo: [],
  spread,
  write: joinPrefixes,
  combine(one, other, refuse) {
    const rules = contentsOf({ ...one, rules: [...one.rules, ...other.rules] });
    if (new Set(rules.map(ruleIdentity)).size < rules.length) {
      refuse('', `${one.prefix} has a baseline rule twice.`);
    }
    return { ...one, rules: rulesOf(rules) };
  },
  /** Rules are compared and answered with their ports joined; what cannot be read is left to `check`. */
  complete({ prefix = '', rules = [] }) {
    let isRead = true;
    const contents = contentsOf({ prefix, rules }, () => (isRead = false));
    return { rules: isRead ? rulesOf(contents) : rules };
  },
  check: (object, refuse) => void contentsOf(object, refuse),
  load,
  async adopt(tx, keys) {
    await sql`
      update baseline_rules set owner = 'fleet'
       where owner = 'portal' and prefix::text = any(${keys}::text[])`.execute(tx);
  },
  save,
  async remove(batch, many) {
    batch.touch(...many.map(({ object }) => object.prefix));
    await batch.end(
      'baseline_rules',
      many.flatMap(({ facts }) => facts.rows.map(({ id }) => id)),
    );
  },
  subject: ({ prefix }) => `baseline of ${showCidr(prefix)}`,
  summary: (object) => describeRules(contentsOf(object)).join(', '),
  shown: () => ({}),
  further({ facts: { rows } }, after) {
    const { created, deleted } = difference(rows, contentsOf(after), ruleIdentity);
    return [
      ...deleted.map((rule) => `- ${describeRule(rule)}`),
      ...created.map((rule) => `+ ${describeRule(rule)}`),
    ];
  },
});

/** An entry of a file has the same rules for several prefixes. */
function spread(entry: object): Spread[] {
  const { prefixes, rules } = entry as {
    readonly prefixes: readonly string[];
    readonly rules: readonly Rule[];
  };
  if (rules.length === 0) return [];
  return prefixes.map((prefix, index) => ({
    value: { prefix, rules },
    pointers: { '/prefix': `/prefixes/${index}` },
  }));
}

/** The inverse of `spread`: prefixes with the same rules are one entry. */
function joinPrefixes(many: readonly Written<BaselineObject, Facts>[]): FilePart[] {
  const alike = Map.groupBy(many, ({ fields }) => JSON.stringify(fields['rules']));
  return [...alike.values()].map((of) => {
    const rules = plainPorts(of[0]?.fields['rules']);
    const prefixes = of.map(({ object }) => showCidr(object.prefix));
    return { path: ['baseline', APPENDED], value: { prefixes, rules }, of };
  });
}

/** Reads the rules, one a port, and refuses those that are wrong or repeat another. */
function contentsOf({ prefix, rules }: BaselineObject, refuse: Refuse = () => {}): RuleContent[] {
  const terms = { family: familyOf(prefix), maxPorts: MAX_PORTS, names: false };
  const within: Refuse = (inside, why) => refuse(`/rules${inside}`, why);
  return [...readRules(rules, within, terms).found];
}

/** Rules that differ only in their ports as one, in one order; as several, where one may not name so many. */
function rulesOf(contents: readonly RuleContent[]): Rule[] {
  return joinPorts(contents)
    .flatMap(([{ action, protocol, source }, ports]) =>
      chunksOf(ports).map((some) => ({
        action,
        protocol,
        destination_port: some.length === 0 ? null : portExpression(some),
        source_ip: source,
      })),
    )
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function chunksOf(ports: readonly number[]): (readonly number[])[] {
  const sorted = ports.toSorted((a, b) => a - b);
  const { length } = sorted;
  const count = Math.max(1, Math.ceil(length / MAX_PORTS));
  return Array.from({ length: count }, (_, index) =>
    sorted.slice(index * MAX_PORTS, (index + 1) * MAX_PORTS),
  );
}

async function load(
  db: Db | Tx,
  keys?: readonly string[],
): Promise<Current<BaselineObject, Facts>[]> {
  const wanted = keys ?? null;
  const { rows } = await sql<Row & { prefix: string; owner: Owner }>`
    select id, prefix, owner, action, protocol, source, port from baseline_rules
     where deleted_generation is null and (${wanted}::text[] is null or prefix::text = any(${wanted}::text[]))
     order by prefix, id`.execute(db);
  return [...Map.groupBy(rows, ({ prefix }) => prefix)].map(([prefix, found]) => {
    const contents = found.map(({ prefix: _prefix, owner: _owner, ...rule }) => rule);
    const { id = 0, owner = 'fleet' } = found[0] ?? {};
    return { id, owner, object: { prefix, rules: rulesOf(contents) }, facts: { rows: contents } };
  });
}

async function save(batch: Batch, many: readonly Wanted<BaselineObject, Facts>[]): Promise<void> {
  const made: (RuleContent & { readonly prefix: string })[] = [];
  const ended: number[] = [];
  for (const { object, before } of many) {
    const { prefix } = object;
    const rows = before?.facts.rows ?? [];
    const { created, deleted } = difference(rows, contentsOf(object), ruleIdentity);
    made.push(...created.map((rule) => ({ ...rule, prefix })));
    ended.push(...deleted.map(({ id }) => id));
    batch.touch(prefix);
  }
  await batch.end('baseline_rules', ended);
  const { rows } = await sql<{ id: number }>`
    insert into baseline_rules (prefix, action, protocol, source, port, owner, created_generation)
    select prefix, action, protocol, source, port, ${batch.owner}, ${UNSTAMPED.created_generation}
      from jsonb_to_recordset(${JSON.stringify(made)}::jsonb)
        as made (prefix cidr, action text, protocol text, source cidr, port integer)
    returning id`.execute(batch.tx);
  batch.begin(
    'baseline_rules',
    rows.map(({ id }) => id),
  );
}
