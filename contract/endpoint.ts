import type { TSchema } from 'typebox';
import type { Responses } from './responses.ts';

/** An operation of the public interface: everything but its code. */
export interface Endpoint {
  readonly operationId: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the version's prefix; parameters in braces. */
  readonly path: string;
  readonly tag: 'Firewall' | 'Game servers' | 'Attacks';
  readonly ability:
    | 'firewall.read'
    | 'firewall.manage'
    | 'attacks.read'
    | 'game-servers.read'
    | 'game-servers.manage';
  /** The activation flag of its area; null where it needs none. */
  readonly flag: 'firewall_api' | 'attack_history_api' | null;
  readonly summary: string;
  readonly description: string;
  readonly query?: TSchema;
  readonly body?: TSchema;
  readonly responses: Responses;
  /** Changes something: runs in a transaction, is audited. */
  readonly write: boolean;
  /** Takes `Idempotency-Key`. */
  readonly idempotent?: boolean;
  /** Takes `If-Match`. */
  readonly conditional?: boolean;
}
