import { sql } from 'kysely';
import { overlayAction, type OverlayAction } from '@portcullis/link/messages/attacks.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Db } from '../db/database.ts';

/** What an edge did while control was away; dated by control's clock. */
export interface LoneAction extends OverlayAction {
  readonly edge: string;
}

interface Record {
  readonly id: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/** Oldest first, as far as it was within the time of this record: what was before or after is another holder's. */
export async function loadLoneActions(db: Db, record: Record): Promise<LoneAction[]> {
  const { rows } = await sql<{ edge: string; actions: unknown }>`
    select edge.key as edge, edge.value -> 'actions' as actions
      from (select evidence from attack_evidence
             where attack_id = ${record.id} order by opened_at limit 1) e,
           jsonb_each(e.evidence -> 'edges') as edge
     order by edge.key`.execute(db);
  return rows
    .flatMap(({ edge, actions }) =>
      (Array.isArray(actions) ? (actions as unknown[]) : []).flatMap((value) => {
        // Written by whichever version.
        const parsed = check(overlayAction, value);
        const action = parsed.ok ? within(record, parsed.value) : null;
        return action === null ? [] : [{ ...action, edge }];
      }),
    )
    .toSorted((a, b) => a.sinceMs - b.sinceMs);
}

/** Pure. Null: it was not. One that nobody said the end of ended with the attack. */
function within({ startedAt, endedAt }: Record, action: OverlayAction): OverlayAction | null {
  const startedMs = startedAt.getTime();
  const sinceMs = Math.max(startedMs, action.sinceMs);
  const untilMs = action.untilMs ?? endedAt?.getTime() ?? null;
  const isBefore = untilMs !== null && untilMs < startedMs;
  const isAfter = endedAt !== null && sinceMs > endedAt.getTime();
  if (isBefore || isAfter) return null;
  return { ...action, sinceMs, untilMs: untilMs === null ? null : Math.max(sinceMs, untilMs) };
}
