import type { EventOptions, ReceivedEvent } from './event-stream.ts';
import type {
  OperatorOperations,
  PortalOperations,
  V1Operations,
  X1Operations,
} from './generated/operations.ts';

interface Shape {
  readonly params: object;
  readonly query: unknown;
  readonly body: unknown;
  readonly headers: string;
  readonly result: object;
}

type KeyOperations = V1Operations & X1Operations & OperatorOperations;
export type Operations = KeyOperations & PortalOperations;
export type OperationId = keyof Operations;

/** The parameters of the path, `query` and `body`, as far as the operation has them. */
type Input<Of extends Shape> = Of['params'] &
  ([Of['query']] extends [never] ? unknown : OptionalIfEmpty<'query', Of['query']>) &
  ([Of['body']] extends [never] ? unknown : { readonly body: Of['body'] });

type OptionalIfEmpty<Name extends string, Value> =
  Record<string, never> extends Value
    ? { readonly [key in Name]?: Value }
    : { readonly [key in Name]: Value };

type Arguments<Of extends Shape> =
  Record<string, never> extends Input<Of>
    ? [input?: Input<Of>, options?: CallOptions<Of['headers']>]
    : [input: Input<Of>, options?: CallOptions<Of['headers']>];

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Throws `TimeoutError` after this time, all attempts included. */
  readonly timeoutMs?: number;
}

export interface AnyCallOptions extends WaitOptions {
  /** Names a write, so that its repetition is answered and not done again. Made for each call when absent. */
  readonly idempotencyKey?: string;
  /** The `etag` of a read: the write is refused (412) if something changed since. */
  readonly ifMatch?: string;
  /** `*`: the write only creates, and is refused (412) if there is one already. */
  readonly ifNoneMatch?: '*';
}

export type CallOptions<Headers extends string = never> = WaitOptions &
  Pick<AnyCallOptions, Extract<Headers, keyof AnyCallOptions>>;

/** Facts in the headers of an answer. */
export interface ResponseInfo {
  readonly status: number;
  readonly requestId: string | null;
  /** On a write, its generation; on a read, the live one. Null where the operation has none. */
  readonly generation: number | null;
  readonly acceptedGeneration: number | null;
  readonly enforcement: 'full' | 'partial' | 'none' | null;
  readonly etag: string | null;
  /** The answer is that of an earlier request with the same Idempotency-Key. */
  readonly isReplayed: boolean;
}

/** The body of an answer, and its headers. */
export type Reply<Body extends object = object> = Body & { readonly response: ResponseInfo };

type Methods<Of> = {
  readonly [Id in keyof Of]: Of[Id] extends Shape
    ? (...args: Arguments<Of[Id]>) => Promise<Reply<Of[Id]['result']>>
    : never;
};

/** The operations that answer in pages. */
type PagedId<Of> = {
  [Id in keyof Of]: Of[Id] extends { result: { links: { next: string | null } } } ? Id : never;
}[keyof Of];

type Pages<Of> = {
  readonly [Id in PagedId<Of>]: Of[Id] extends Shape
    ? (...args: Arguments<Of[Id]>) => AsyncGenerator<Reply<Of[Id]['result']>, void>
    : never;
};

export interface WaitUntilLiveOptions extends WaitOptions {
  /** Wait for this address only; absent: for every edge that serves the organisation. */
  readonly ip?: string;
}

interface Common<Of> {
  /**
   * Streams events that happen, from now on or after `lastEventId`: `for await (const event of client.events())`.
   * Opens a broken connection again and misses nothing of the last seven days; an event of the kind `gap` says that it did.
   */
  events(options?: EventOptions): AsyncGenerator<ReceivedEvent, void>;
  /** Pages of a list, one after the other: `for await (const page of client.pages.listAttacks())`. */
  readonly pages: Pages<Of>;
  /**
   * Resolves when a write is in the kernel of every edge in service that serves the address: pass
   * `reply.response.generation`. Throws `TimeoutError` after `timeoutMs` (default 10 minutes), and `NotEnforcedError`
   * at once if no edge enforces there.
   */
  waitUntilLive(generation: number | null, options?: WaitUntilLiveOptions): Promise<void>;
}

/** The operations of an organisation's API key. */
export type KeyClient = Methods<KeyOperations> & Common<KeyOperations>;
/** The operations of a person who is signed in; a browser sends the session's cookie. */
export type SessionClient = Methods<Operations> & Common<Operations>;
