import type { Readable } from 'node:stream';
import type {
  Endpoint,
  OperatorEndpoint,
  PortalEndpoint,
  Row,
} from '@portcullis/contract/endpoint.ts';
import type { Caller, Operator } from '../../access/index.ts';
import type { Db, Reader, Tx } from '../../db/database.ts';

/** An endpoint row with its schema types erased. */
export type OperationRow = Pick<
  Row,
  | 'operationId'
  | 'method'
  | 'path'
  | 'params'
  | 'query'
  | 'body'
  | 'bodyBytes'
  | 'write'
  | 'idempotent'
  | 'stream'
  | 'takesBytes'
  | 'sendsBytes'
  | 'waits'
  | 'requestHeaders'
  | 'dryRun'
> &
  (
    | Pick<Endpoint, 'ability' | 'flag'>
    | Pick<OperatorEndpoint, 'operator'>
    | Pick<PortalEndpoint, 'role'>
  );

/** A request for its handler: authenticated, authorised and validated. */
export interface Call<By = unknown, Params = unknown, Body = unknown, Query = unknown> {
  /** The sender, of the kind that the row serves. */
  readonly by: By;
  /** The parameters of the path: numbers as such, addresses canonical, uuids in lower case. */
  readonly params: Params;
  readonly requestId: string;
  /** The canonical client address; null if a trusted proxy forwarded an invalid one. */
  readonly source: string | null;
  readonly userAgent: string | null;
  /** The Cookie header as sent. */
  readonly cookies: string | undefined;
  readonly body: Body;
  readonly query: Query;
  /** The `If-Match` header as sent; null without one. */
  readonly ifMatch: string | null;
  /** The `If-None-Match` header as sent; null without one. */
  readonly ifNoneMatch: string | null;
  /** The `Last-Event-ID` header as sent; null without one. */
  readonly lastEventId: string | null;
  /** The `Range` header as sent; null without one. */
  readonly range: string | null;
  /** The `If-Range` header as sent; null without one. */
  readonly ifRange: string | null;
  /** Whether only the head of the answer is wanted. */
  readonly isHead: boolean;
  /** The body of an operation that takes bytes; otherwise null. */
  readonly bytes: Readable | null;
  /** For writes: runs after the commit. For effects that cannot be undone, such as a log line. */
  readonly afterCommit: (effect: () => void) => void;
  /**
   * For writes that end or change rights of a key, or of a person (the negative id): the answer waits, after the commit,
   * for the writes that began by the old right.
   */
  readonly endsRights: (holderId: number) => void;
}

/** A request of a caller of an organisation. */
export type CallerCall<Params = unknown> = Call<Caller, Params>;
/** A request about an address of the caller. */
export type AddressCall = CallerCall<{ readonly ip: string }>;
/** A request of an operator. */
export type OperatorCall<Params = unknown> = Call<Operator, Params>;

/** A request of an operation that has transactions of its own. */
export interface Writing<By = unknown> {
  /**
   * Opens one. It begins with reading the caller's right again, and there is no other way to one. `alone`: no other write
   * of the same key or person runs meanwhile, so that what it reads of them is all that there is. `now`: the sender with
   * the rights that it has in the transaction.
   */
  readonly write: <T>(script: (tx: Tx, now: By) => Promise<T>, how?: 'alone') => Promise<T>;
}

/** Several values are several header lines. */
export type ReplyHeaders = Readonly<Record<string, string | string[]>>;

/** The result of a handler; http/ adds bytes, tags and headers. */
export interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: ReplyHeaders;
  /** The answer to a repetition with the same Idempotency-Key, where `body` has a secret. */
  readonly remembered?: object;
  /** The part of a read that a later `If-Match` depends on; without it, the whole representation. */
  readonly state?: string;
}

/** The result of a handler whose answer is bytes that pass through. */
export interface BytesAnswer {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Null: only the head is sent. */
  readonly bytes: Readable | null;
}

/** The result of a handler that is answered when the bytes of the request have passed through. */
export interface LaterAnswer {
  /** Ends when `ending` aborts: the caller has left, or may do this no longer. */
  readonly later: (ending: AbortSignal) => Promise<Answer>;
}

/** A response as bytes, for sending and for idempotency keys. */
export interface Reply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly payload: Buffer;
  /** The part that is stored of it; absent: the payload. */
  readonly remembered?: Buffer;
  /** Bytes that are sent instead of the payload, as they come. */
  readonly bytes?: Readable;
  /** The reply itself, when the bytes of the request have passed through. */
  readonly later?: (ending: AbortSignal) => Promise<Reply>;
}

/** Reads get the pool, writes the transaction that http/ opens and commits. */
export type ReadHandler<C, A = Answer> = (call: C, db: Db) => Promise<A>;
export type WriteHandler<C> = (call: C, tx: Tx) => Promise<Answer>;
export type InstructHandler<C extends { readonly by: unknown }, A = Answer> = (
  call: C & Writing<C['by']>,
  db: Reader,
) => Promise<A>;

/** Text of server-sent events until `ending` is aborted; the handler aborts it for a reader that is too slow. */
export type StreamHandler<C> = (call: C, ending: AbortController) => AsyncGenerator<string, void>;

/** A call for a handler with erased types. */
export type UntypedCall = Call<never, never, never, never>;

/** A handler with erased types: only validated values may be passed. */
export type OperationHandler =
  | { readonly kind: 'read'; run(call: UntypedCall, db: Db): Promise<Answer | BytesAnswer> }
  | {
      readonly kind: 'stream';
      run(call: UntypedCall, ending: AbortController): AsyncGenerator<string, void>;
    }
  /** Outside of a transaction, because it waits for an agent. */
  | {
      readonly kind: 'instruct';
      run(call: UntypedCall & Writing<never>, db: Reader): Promise<Answer | LaterAnswer>;
    }
  | { readonly kind: 'write'; run(call: UntypedCall, tx: Tx): Promise<Answer> };
