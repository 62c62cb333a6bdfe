import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import type { WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import { type Marks, NO_MARKS } from '@portcullis/core/firewall/rules/marks.ts';
import { wakeExpiry } from '../mark-columns.ts';
import type { StoredRule } from '../objects.ts';

export interface MarkedRule extends Marks {
  readonly id: number;
  /** The rule of the same ref that this one replaces, whose note and tags it gets. */
  readonly replaces: number | null;
}

/** The first rule of a ref keeps it: one that an undo brings back may find it taken. */
export function withUniqueRefs(rules: readonly WantedRule[]): WantedRule[] {
  const seen = new Set<string>();
  return rules.map((rule) => {
    if (!rule.ref) return rule;
    if (seen.has(rule.ref)) return { ...rule, ref: null };
    seen.add(rule.ref);
    return rule;
  });
}

/** The marks of rules that were created, whose ids are in the same order. */
export function createdMarks(
  ids: readonly number[],
  created: readonly WantedRule[],
  deleted: readonly StoredRule[],
): MarkedRule[] {
  const replaced = new Map(deleted.map(({ ref, id }) => [ref, id]));
  return ids.flatMap((id, index) => {
    const { ref, expiresAt } = { ...NO_MARKS, ...created[index] };
    if (ref === null && expiresAt === null) return [];
    return [{ id, ref, expiresAt, replaces: ref === null ? null : (replaced.get(ref) ?? null) }];
  });
}

/** Writes marks, and wakes what ends rules. Rules that are replaced must have ended. */
export async function writeMarks(tx: Tx, marks: readonly MarkedRule[]): Promise<void> {
  if (marks.length === 0) return;
  // Refs may change places, and are unique after every row.
  const ids = marks.map(({ id }) => id);
  await sql`update rules set ref = null where id = any(${ids}::bigint[]) and ref is not null`.execute(
    tx,
  );
  await sql`
    update rules r set ref = n.ref, expires_at = n."expiresAt",
           note = case when o.id is null then r.note else o.note end,
           tags = case when o.id is null then r.tags else o.tags end
      from jsonb_to_recordset(${JSON.stringify(marks)}::jsonb)
             as n (id bigint, ref text, "expiresAt" timestamptz, replaces bigint)
           left join rules o on o.id = n.replaces
     where r.id = n.id`.execute(tx);
  await wakeExpiry(tx, marks);
}
