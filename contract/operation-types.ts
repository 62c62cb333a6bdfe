import type { Static, TSchema } from 'typebox';
import type { OperatorAbility, Role } from './endpoint.ts';
import type { ENDPOINTS } from './endpoints.ts';
import type { OPERATOR_ENDPOINTS } from './operator-endpoints.ts';
import type { PORTAL_ENDPOINTS } from './portal-endpoints.ts';
import type { X1_ENDPOINTS } from './x1-endpoints.ts';

/** The rows of all tables as types, for handlers and clients. */
type PortalRow = (typeof PORTAL_ENDPOINTS)[number];
type KeyRow = (typeof ENDPOINTS)[number] | (typeof X1_ENDPOINTS)[number];
type Row = KeyRow | PortalRow | (typeof OPERATOR_ENDPOINTS)[number];
type RowOf<Id extends OperationId> = Extract<Row, { readonly operationId: Id }>;

export type OperationId = Row['operationId'];

/** The type of the request body; null without one. */
export type BodyOf<Id extends OperationId> =
  RowOf<Id> extends { readonly body: infer Schema extends TSchema } ? Static<Schema> : null;

/** The types of the parsed query parameters. */
export type QueryOf<Id extends OperationId> =
  RowOf<Id> extends { readonly query: infer Schema extends TSchema }
    ? Static<Schema>
    : Readonly<Record<string, never>>;

/** The types of the path parameters that the row describes. */
export type ParamsOf<Id extends OperationId> =
  RowOf<Id> extends { readonly params: infer Schemas extends Readonly<Record<string, TSchema>> }
    ? { readonly [Name in keyof Schemas]: Static<Schemas[Name]> }
    : object;

/**
 * The kind of sender that the operation serves: an operator, nobody in particular, a person, a member of the
 * organisation of the path, or a caller of an organisation, which is a key or a member.
 */
export type SenderOf<Id extends OperationId> =
  RowOf<Id> extends { readonly operator: OperatorAbility }
    ? 'operator'
    : RowOf<Id> extends { readonly role: infer Needed }
      ? Needed extends Role
        ? 'member'
        : Needed extends 'anyone'
          ? 'nobody'
          : 'person'
      : 'caller';

/** Whether the operation answers with a stream of events. */
export type IsStream<Id extends OperationId> =
  RowOf<Id> extends { readonly stream: true } ? true : false;

/** Whether bytes pass through the operation, from the caller or to it. */
export type TakesBytes<Id extends OperationId> =
  RowOf<Id> extends { readonly takesBytes: true } ? true : false;
export type SendsBytes<Id extends OperationId> =
  RowOf<Id> extends { readonly sendsBytes: true } ? true : false;

/** Whether the operation changes something, and so runs in a transaction. */
export type IsWrite<Id extends OperationId> = RowOf<Id>['write'];
