import { sql } from 'kysely';
import type { Attack } from '@portcullis/core/attacks/attack.ts';
import type { AttackTops } from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';
import type { Db } from '../../../db/database.ts';
import { putAttack } from '../../detection/testing.ts';
import type { ReportedAttack } from '../../detection/index.ts';
import { type Responded, respondToReports, type RespondHooks, sweepResponses } from './respond.ts';

/** An ongoing attack as the recorder stores and reports it. */
export async function recordOngoing(
  db: Db,
  subject: string,
  type: Attack['type'],
  tops: AttackTops | null = null,
): Promise<ReportedAttack> {
  const attackId = await putAttack(db, { subject, startedAgo: 2, type });
  // Seen for an hour, so that no detector here takes it over.
  const { rows } = await sql<{ startedAt: Date }>`
    insert into ongoing_attacks (subject, attack_id, revision, started_at, opened_at, seen_at, detector)
    select subject, id, revision, started_at, now(), now() + interval '1 hour', '{}' from attacks where id = ${attackId}
    returning started_at as "startedAt"`.execute(db);
  const startedAtMs = rows[0]?.startedAt.getTime() ?? 0;
  const attack = { type, shares: [{ type, share: 1 }], subject, startedAtMs };
  return { attackId, kind: 'opened', attack, tops };
}

/** Like `refs`, as text: `enforce reflector`, by id. */
export async function activeKinds(db: Db, attackId: number): Promise<string[]> {
  const { rows } = await sql<{ kind: string }>`
    select mode || ' ' || (action ->> 'kind') as kind from mitigations
     where attack_id = ${attackId} and deleted_generation is null order by id`.execute(db);
  return rows.map(({ kind }) => kind);
}

export async function mitigatedAt(db: Db, attackId: number): Promise<Date | null> {
  const { rows } = await sql<{ at: Date | null }>`
    select mitigated_at as at from attacks where id = ${attackId} order by revision desc limit 1`.execute(
    db,
  );
  return rows[0]?.at ?? null;
}

/** Fails if planning fails. */
function hooksInto(all: Responded[]): RespondHooks {
  return {
    responded: (one) => void all.push(one),
    failed(what, error) {
      throw new Error(what, { cause: error });
    },
  };
}

/** The changed attacks. */
export async function respondToAll(
  db: Db,
  received: readonly ReportedAttack[],
): Promise<Responded[]> {
  const all: Responded[] = [];
  await respondToReports(db, received, hooksInto(all));
  return all;
}

/** Null if nothing changed. */
export async function respondTo(db: Db, received: ReportedAttack): Promise<Responded | null> {
  return (await respondToAll(db, [received]))[0] ?? null;
}

/** The number of changed attacks. */
export async function sweepAll(db: Db, all = true): Promise<number> {
  const responded: Responded[] = [];
  await sweepResponses(db, all, hooksInto(responded));
  return responded.length;
}
