import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** The tables of mitigations; what schema.ts says of types holds here too. */
export interface MitigationSchema {
  attack_responses: AttackResponseTable;
  mitigations: MitigationTable;
  responders: ResponderTable;
  responder_runs: ResponderRunTable;
  responder_turns: ResponderTurnTable;
  responder_calls: ResponderCallTable;
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

/** The responders: programs and webhooks for attacks. */
export interface ResponderSpec {
  readonly call: /** The program's absolute path and its arguments; no shell reads them. */
    | { readonly kind: 'command'; readonly command: readonly string[] }
    /** Null: no Authorization header. */
    | { readonly kind: 'webhook'; readonly url: string; readonly secret: string | null };
  /** Only attacks inside these prefixes. Null: all. */
  readonly prefixes: readonly string[] | null;
  /** Only attacks with a peak above one of these. Null: all. */
  readonly pps: number | null;
  readonly mbps: number | null;
  /** The timeout of a call. */
  readonly timeoutSeconds: number;
  /** Withdrawn after this time. */
  readonly expiresSeconds: number;
}

interface ResponderTable {
  id: GeneratedAlways<number>;
  name: string;
  spec: Json<ResponderSpec>;
  owner: 'fleet' | 'portal';
}

interface ResponderRunTable {
  id: GeneratedAlways<number>;
  attack_id: number;
  organisation_id: number | null;
  responder: string;
  spec: Json<ResponderSpec>;
  begun_at: Generated<Date>;
  expires_at: Date;
  withdrawn_at: Date | null;
  withdrawn_because: 'over' | 'expired' | 'cancelled' | 'settings' | null;
}

interface ResponderTurnTable {
  responder: string;
  organisation_id: number;
  served_at: Date;
}

interface ResponderCallTable {
  id: GeneratedAlways<number>;
  run_id: number;
  kind: 'start' | 'withdraw';
  attempts: Generated<number>;
  due_at: Generated<Date>;
  claimed_until: Date | null;
  settled_at: Date | null;
  succeeded: boolean | null;
  result: string | null;
}
