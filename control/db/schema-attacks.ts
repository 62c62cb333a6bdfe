import type { ColumnType, Generated } from 'kysely';

/** The tables of attacks; what schema.ts says of types holds here too. */
export interface AttackSchema {
  attack_clock: AttackClockTable;
  attacks: AttackTable;
  ongoing_attacks: OngoingAttackTable;
  attack_sightings: AttackSightingTable;
  attack_evidence: AttackEvidenceTable;
  late_budgets: LateBudgetTable;
  attack_drops: AttackDropTable;
}

/** Written as JSON text. */
type Json<T> = ColumnType<T, string, string>;

interface AttackClockTable {
  one: Generated<boolean>;
  revision: Generated<number>;
  forgotten: Generated<number>;
  /** Secret. */
  snapshot_key: Generated<string>;
}

interface AttackTable {
  id: number;
  revision: number;
  /** Beyond 2^53 for the present version: compare it in SQL, do not read it. */
  until_revision: Generated<number>;
  superseded_at: Date | null;
  organisation_id: number | null;
  holding_id: number | null;
  subject: string;
  prefix: string;
  attack_type: string;
  peak_pps: number;
  peak_bps: number;
  started_at: Date;
  mitigated_at: Date | null;
  ended_at: Date | null;
}

interface OngoingAttackTable {
  subject: string;
  attack_id: number;
  revision: number;
  started_at: Date;
  opened_at: Date;
  ended_at: Date | null;
  seen_at: Date;
  /** The detector state to continue with. */
  detector: Json<object>;
}

interface AttackSightingTable {
  subject: string;
  recorder: string;
  seen_at: Date;
}

interface AttackEvidenceTable {
  attack_id: number;
  opened_at: Date;
  evidence: Json<object>;
}

interface LateBudgetTable {
  edge: string;
  spent: number;
  at: Generated<Date>;
}

interface AttackDropTable {
  attack_id: number;
  what: 'dropped' | 'observed';
  packets: number;
  bytes: number;
}
