import { sql } from 'kysely';
import { overlayAction, type OverlayAction } from '@portcullis/link/messages/attacks.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Db } from '../db/database.ts';

/** An action of an edge while control was away, in control's time. */
export interface AutonomousAction extends OverlayAction {
  readonly edge: string;
}

interface Record {
  readonly id: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/** Oldest first, clamped to the time of this record: earlier and later actions belong to other holders. */
export async function loadAutonomousActions(db: Db, record: Record): Promise<AutonomousAction[]> {
  const { rows } = await sql<{ edge: string; actions: unknown }>`
    select edge.key as edge, edge.value -> 'actions' as actions
      from (select evidence from attack_evidence
             where attack_id = ${record.id} order by opened_at limit 1) e,
           jsonb_each(e.evidence -> 'edges') as edge
     order by edge.key`.execute(db);
  return rows
    .flatMap(({ edge, actions }) =>
      (Array.isArray(actions) ? (actions as unknown[]) : []).flatMap((value) => {
        // Written by any version.
        const parsed = check(overlayAction, value);
        const action = parsed.ok ? within(record, parsed.value) : null;
        return action === null ? [] : [{ ...action, edge }];
      }),
    )
    .toSorted((a, b) => a.sinceMs - b.sinceMs);
}

/** Returns null if it was outside the record. An action without an end ended with the attack. */
function within({ startedAt, endedAt }: Record, action: OverlayAction): OverlayAction | null {
  const startedMs = startedAt.getTime();
  const sinceMs = Math.max(startedMs, action.sinceMs);
  const untilMs = action.untilMs ?? endedAt?.getTime() ?? null;
  const isBefore = untilMs !== null && untilMs < startedMs;
  const isAfter = endedAt !== null && sinceMs > endedAt.getTime();
  if (isBefore || isAfter) return null;
  return { ...action, sinceMs, untilMs: untilMs === null ? null : Math.max(sinceMs, untilMs) };
}
