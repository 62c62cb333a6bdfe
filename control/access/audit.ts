import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';
import type { Caller, Key, Operator, OperatorKey, Person } from './caller.ts';
import type { ActorKind } from '../db/schema.ts';

/** The actor of an audited action, and its source. */
export interface Actor {
  readonly kind: ActorKind;
  /** A key's name and id, an operator's account, or the path of the fleet file. */
  readonly name: string;
  readonly source: string | null;
  readonly requestId: string | null;
}

/** An authenticated request. */
interface SentBy<By> {
  readonly by: By;
  readonly source: string | null;
  readonly requestId: string;
}

/** The actor of a caller's request; an operator in another's organisation is marked. */
export function keyActor({ by, source, requestId }: SentBy<Caller>): Actor {
  if (by.kind === 'key') return { kind: 'key', name: nameOf(by), source, requestId };
  const kind = by.kind === 'member' && by.isActing ? 'operator' : 'user';
  return { kind, name: by.person.email, source, requestId };
}

function nameOf({ keyName, keyId }: Key | OperatorKey): string {
  return `${keyName} (${keyId})`;
}

/** The actor of a signed-in person that acts for itself. */
export function personActor({ by, source, requestId }: SentBy<Person>): Actor {
  return { kind: 'user', name: by.email, source, requestId };
}

/** The actor of an operator's request. */
export function operatorActor({ by, source, requestId }: SentBy<Operator>): Actor {
  const name = by.kind === 'person' ? by.email : nameOf(by);
  return { kind: 'operator', name, source, requestId };
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
export async function recordAudit(tx: Tx, { actor, ...entry }: AuditEntry): Promise<number> {
  const [id] = await recordAudits(tx, actor, [entry]);
  if (id === undefined) throw new Error('an insert returned no row');
  return id;
}

/** Writes entries of one actor, in order, and returns their ids. */
export async function recordAudits(
  tx: Tx,
  actor: Actor,
  entries: readonly Omit<AuditEntry, 'actor'>[],
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into audit (organisation_id, actor_kind, actor, source, request_id, action, target, detail, generation)
    select "organisationId", ${actor.kind}, ${actor.name}, ${actor.source}::inet, ${actor.requestId}, action, target,
           coalesce(detail, '{}'), generation
      from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as e
        ("organisationId" bigint, action text, target text, detail jsonb, generation bigint)
    returning id`.execute(tx);
  return rows.map(({ id }) => id);
}
