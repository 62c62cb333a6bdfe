import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** The tables of webhooks; what schema.ts says of types holds here too. */
export interface WebhookSchema {
  webhooks: WebhookTable;
  webhook_deliveries: WebhookDeliveryTable;
}

export interface WebhookTable {
  id: GeneratedAlways<number>;
  organisation_id: number;
  name: string;
  url: string;
  kinds: string[];
  secret: Buffer;
  previous_secret: Buffer | null;
  previous_until: Date | null;
  disabled_at: Date | null;
  disabled_reason: string | null;
  created_at: Generated<Date>;
}

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'skipped';

/** An attempt, in the names of the interface. */
export interface LoggedAttempt {
  readonly at: string;
  readonly duration_ms: number;
  /** Null: there was no answer. */
  readonly response_status: number | null;
  /** Null: it succeeded. */
  readonly error: string | null;
}

interface WebhookDeliveryTable {
  id: GeneratedAlways<number>;
  webhook_id: number;
  event_id: number;
  state: Generated<DeliveryState>;
  attempts: Generated<number>;
  due_at: Generated<Date>;
  created_at: Generated<Date>;
  settled_at: Date | null;
  log: ColumnType<LoggedAttempt[], string | undefined, string>;
}
