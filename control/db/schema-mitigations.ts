import type { MitigationAction } from '@portcullis/core/attacks/actions.ts';
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** The tables of mitigations; what schema.ts says of types holds here too. */
export interface MitigationSchema {
  attack_responses: AttackResponseTable;
  mitigations: MitigationTable;
}

/** Written as JSON text. */
type Json<T> = ColumnType<T, string, string>;

interface AttackResponseTable {
  attack_id: number;
  target: string;
  started_at: Date;
  facts: Json<object>;
  ended_at: Date | null;
  expires_at: Date;
  cancelled_at: Date | null;
  cancelled_by: string | null;
  mitigated_at: Date | null;
  closed_at: Date | null;
}

interface MitigationTable {
  id: GeneratedAlways<number>;
  attack_id: number;
  target: string;
  action: Json<MitigationAction>;
  mode: 'enforce' | 'observe';
  safelist: Generated<string[]>;
  created_generation: number;
  created_at: Generated<Date>;
  deleted_generation: number | null;
  deleted_at: Date | null;
  ended_because: 'over' | 'expired' | 'cancelled' | 'settings' | null;
}
