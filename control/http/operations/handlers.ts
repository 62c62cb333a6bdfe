import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import type {
  BodyOf,
  IsStream,
  IsWrite,
  OperationId,
  ParamsOf,
  QueryOf,
  SenderOf,
  SendsBytes,
  TakesBytes,
} from '@portcullis/contract/operation-types.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import type { Caller, Member, Operator, Person } from '../../access/index.ts';
import type {
  Answer,
  BytesAnswer,
  Call,
  InstructHandler,
  LaterAnswer,
  OperationHandler,
  OperationRow,
  ReadHandler,
  StreamHandler,
  WriteHandler,
} from './operation.ts';

/** The sender of a request, by the kind that its row serves. */
interface Senders {
  readonly nobody: null;
  readonly person: Person;
  readonly member: Member;
  readonly caller: Caller;
  readonly operator: Operator;
}

/** A request of an operation, with the types of its row. */
export type CallOf<Id extends OperationId> = Call<
  Senders[SenderOf<Id>],
  ParamsOf<Id>,
  BodyOf<Id>,
  QueryOf<Id>
>;

export type HandlerOf<Id extends OperationId> =
  IsStream<Id> extends true
    ? StreamHandler<CallOf<Id>>
    : IsWrite<Id> extends true
      ? WriteHandler<CallOf<Id>>
      : IsWrite<Id> extends 'instructs'
        ? InstructHandler<CallOf<Id>, TakesBytes<Id> extends true ? LaterAnswer : Answer>
        : ReadHandler<CallOf<Id>, SendsBytes<Id> extends true ? Answer | BytesAnswer : Answer>;

/** The handlers of all operations; a missing or misspelt one does not compile. */
export type Handlers = {
  readonly [Id in OperationId]: HandlerOf<Id>;
};

export interface BoundOperation {
  readonly prefix: string;
  readonly row: OperationRow;
  readonly handler: OperationHandler;
}

/** The rows for keys are here a second time, for the session of a person with a role in the organisation. */
const SESSION_PREFIX = `${PORTAL_PREFIX}/organisations/{organisation}`;

/** Every row of the contract with its handler. */
export function bindOperations(handlers: Handlers): BoundOperation[] {
  const bind = (prefix: string) => (row: OperationRow & { readonly operationId: OperationId }) => ({
    prefix,
    row,
    handler: forgetTypes(row, handlers[row.operationId]),
  });
  const forSessions = (version: string) => bind(SESSION_PREFIX + version.replace('/api', ''));
  return [
    ...ENDPOINTS.map(bind(V1_PREFIX)),
    ...X1_ENDPOINTS.map(bind(X1_PREFIX)),
    ...OPERATOR_ENDPOINTS.map(bind(OPERATOR_PREFIX)),
    ...PORTAL_ENDPOINTS.map(bind(PORTAL_PREFIX)),
    ...OPERATOR_ENDPOINTS.map(bind(`${PORTAL_PREFIX}/operator`)),
    ...ENDPOINTS.map(forSessions(V1_PREFIX)),
    ...X1_ENDPOINTS.map(forSessions(X1_PREFIX)),
  ];
}

/** The row determines whether the handler writes, in type and value. */
function forgetTypes(row: OperationRow, handler: Handlers[OperationId]): OperationHandler {
  // The type of the handler follows from the row in HandlerOf.
  const kind =
    row.stream === true
      ? 'stream'
      : row.write === 'instructs'
        ? 'instruct'
        : row.write
          ? 'write'
          : 'read';
  return { kind, run: handler } as OperationHandler;
}
