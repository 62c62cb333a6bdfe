import type { Static, TSchema } from 'typebox';
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

/** Whether the operation answers with a stream of events. */
export type IsStream<Id extends OperationId> =
  RowOf<Id> extends { readonly stream: true } ? true : false;

/** Whether the operation changes something, and so runs in a transaction. */
export type IsWrite<Id extends OperationId> = RowOf<Id>['write'];
