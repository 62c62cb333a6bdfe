import type { Endpoint } from '@portcullis/contract/endpoint.ts';
import type { Caller } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';

/** What http/ needs of an endpoint's row, whatever its schemas are. */
export type OperationRow = Pick<
  Endpoint,
  'operationId' | 'method' | 'path' | 'ability' | 'flag' | 'query' | 'body' | 'write' | 'idempotent'
>;

/** One request as its handler sees it: authenticated, allowed, and judged by the operation's schemas. */
export interface Call<Body = unknown, Query = unknown> {
  readonly caller: Caller;
  readonly requestId: string;
  /** Where the request came from, canonical; null when a trusted proxy forwarded rubbish. */
  readonly source: string | null;
  /** The path's `ip`, canonical; empty for operations without one. */
  readonly ip: string;
  /** The path's `slice`, a uuid in lower case; empty for operations without one. */
  readonly server: string;
  /** The path's `attack`; 0 for operations without one. */
  readonly attack: number;
  readonly body: Body;
  readonly query: Query;
  /** The `If-Match` header as sent; null without one. */
  readonly ifMatch: string | null;
  /** Of a write: runs when it is committed, and not when it is undone. For what cannot be undone, such as a log line. */
  readonly afterCommit: (effect: () => void) => void;
}

/** What a handler answers; http/ makes bytes, tags and headers of it. */
export interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** The part of a read that a later `If-Match` depends on; without it, the whole representation. */
  readonly state?: string;
}

/** An answer as bytes: what is sent, and what is kept for an idempotency key. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer;
  /** The strong tag of the payload, worked out when first asked for. */
  readonly tag?: () => string;
}

/** Reads get the pool, writes the transaction that http/ opened for them and commits. */
export type ReadHandler<C> = (call: C, db: Db) => Promise<Answer>;
export type WriteHandler<C> = (call: C, tx: Tx) => Promise<Answer>;

/** A handler whose types are forgotten: only values that its row's validators accepted may go in. */
export type OperationHandler =
  | { readonly kind: 'read'; run(call: Call<never, never>, db: Db): Promise<Answer> }
  /** Outside of any transaction: it waits for somebody else. */
  | { readonly kind: 'instruct'; run(call: Call<never, never>, db: Db): Promise<Answer> }
  | { readonly kind: 'write'; run(call: Call<never, never>, tx: Tx): Promise<Answer> };
