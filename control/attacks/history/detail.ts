import { sql } from 'kysely';
import {
  describeAction,
  type MitigationAction,
} from '@portcullis/core/attacks/mitigation/actions.ts';
import { overlayAction, type OverlayAction } from '@portcullis/link/messages/attacks.ts';
import { check } from '@portcullis/link/messages/schema.ts';
import type { Caller } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { loadEvidence } from './evidence.ts';
import { filterHoldings, sinceHeld, withinReach } from './visible-attacks.ts';
import { ATTACK_COLUMNS, type AttackRow, loadView } from './store.ts';
import { type AcceptedTraffic, findAccepted, findUsual } from '../detection/index.ts';
import { attackView, secondView } from './views.ts';

const EVERYTHING = { ip: null, prefix: null, asn: null } as const;

/** One attack in its present state, or null if the caller may not see it. */
export async function findAttack(
  db: Db | Tx,
  caller: Caller,
  id: number,
): Promise<AttackRow | null> {
  const { reach } = await loadView(db, caller);
  const holdings = filterHoldings(reach, EVERYTHING);
  if (holdings.length === 0) return null;
  const { attackHistoryDays: days } = caller.organisation.limits;
  const { rows } = await sql<AttackRow>`
    select ${ATTACK_COLUMNS} from attacks a
     where a.id = ${id} and a.until_revision = 9223372036854775807
       and ${withinReach(reach, EVERYTHING, holdings)} and ${sinceHeld(holdings, 'all')}
       and (a.ended_at is null or a.ended_at >= now() - make_interval(days => ${days}))`.execute(
    db,
  );
  return rows[0] ?? null;
}

interface MitigationRow {
  readonly id: number;
  readonly action: MitigationAction;
  readonly mode: 'enforce' | 'observe';
  readonly since: Date;
  readonly until: Date | null;
  readonly because: 'over' | 'expired' | 'cancelled' | 'settings' | null;
}

interface Counted {
  readonly packets: number;
  readonly bytes: number;
}

export async function detailView(db: Db, attack: AttackRow, now: Date) {
  const { rows: mitigations } = await sql<MitigationRow>`
    select id, countermeasure as action, mode, created_at as since, deleted_at as until, ended_because as because
      from mitigations where attack_id = ${attack.id} order by id`.execute(db);
  const { rows: responses } = await sql<{ at: Date | null }>`
    select cancelled_at as at from attack_responses where attack_id = ${attack.id}`.execute(db);
  const autonomous = await loadAutonomousActions(db, attack);
  const { rows: drops } = await sql<Counted & { what: 'dropped' | 'observed' }>`
    select what, packets, bytes from attack_drops where attack_id = ${attack.id}`.execute(db);
  const countedAs = (what: 'dropped' | 'observed'): Counted => {
    const { packets = 0, bytes = 0 } = drops.find((one) => one.what === what) ?? {};
    return { packets, bytes };
  };
  const cancelledAt = responses[0]?.at ?? null;
  const accepted = await findAccepted(db, attack.id);
  return {
    data: {
      attack: attackView(attack, now),
      mitigations: [...mitigations.map(mitigationView), ...autonomous.map(autonomousView)].toSorted(
        (a, b) => (a.since < b.since ? -1 : Number(a.since > b.since)),
      ),
      dropped: countedAs('dropped'),
      would_drop: countedAs('observed'),
      cancelled_at: cancelledAt && secondView(cancelledAt),
      evidence: await loadEvidence(db, attack),
      usual: await findUsual(db, attack.id, now),
      accepted: accepted && acceptedView(accepted),
    },
  };
}

function mitigationView({ id, action, mode, since, until, because }: MitigationRow) {
  return {
    id,
    edge: null,
    action: describeAction(action),
    mode,
    since: secondView(since),
    until: until && secondView(until),
    ended_because: because,
  };
}

function autonomousView({ edge, action, mode, sinceMs, untilMs }: AutonomousAction) {
  return {
    id: null,
    edge,
    action: describeAction(action),
    mode,
    since: secondView(new Date(sinceMs)),
    until: untilMs === null ? null : secondView(new Date(untilMs)),
    ended_because: null,
  };
}

function acceptedView({ pps, mbps, by, at }: AcceptedTraffic) {
  return { pps, mbps, by, at: secondView(at) };
}

/** An action of an edge during an outage of control, in control's time. */
interface AutonomousAction extends OverlayAction {
  readonly edge: string;
}

/** Empty unless an edge reported the attack. An action without an end ended with the attack. */
async function loadAutonomousActions(
  db: Db,
  { id, endedAt }: AttackRow,
): Promise<AutonomousAction[]> {
  const { rows } = await sql<{ edge: string; action: unknown }>`
    select evidence ->> 'edge' as edge, jsonb_array_elements(evidence -> 'actions') as action
      from attack_evidence where attack_id = ${id}`.execute(db);
  return rows.flatMap(({ edge, action }) => {
    // Written by any version.
    const parsed = check(overlayAction, action);
    if (!parsed.ok) return [];
    const untilMs = parsed.value.untilMs ?? endedAt?.getTime() ?? null;
    return [{ ...parsed.value, untilMs, edge }];
  });
}
