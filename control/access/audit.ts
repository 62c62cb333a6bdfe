import type { Tx } from '../db/database.ts';
import type { ActorKind } from '../db/schema.ts';

/** The actor of an audited action, and its source. */
export interface Actor {
  readonly kind: ActorKind;
  /** A key's name and id, an operator's account, or the path of the fleet file. */
  readonly name: string;
  readonly source: string | null;
  readonly requestId: string | null;
}

export interface AuditEntry {
  readonly actor: Actor;
  /** Null if the action concerns no single organisation. */
  readonly organisationId: number | null;
  /** The action, such as `rule.create` or `key.revoke`. */
  readonly action: string;
  /** The target, such as an address or `key:17`. */
  readonly target: string;
  /** Never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly generation?: number | null;
}

/** Writes the entry in the transaction of the action, so that neither exists without the other. Returns its id. */
export async function recordAudit(tx: Tx, entry: AuditEntry): Promise<number> {
  const { id } = await tx
    .insertInto('audit')
    .values({
      organisation_id: entry.organisationId,
      actor_kind: entry.actor.kind,
      actor: entry.actor.name,
      source: entry.actor.source,
      request_id: entry.actor.requestId,
      action: entry.action,
      target: entry.target,
      detail: JSON.stringify(entry.detail ?? {}),
      generation: entry.generation ?? null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
