/**
 * A stateful filter as data. Every UDP game filter is the same small machine, so a new one is a new file
 * of this shape and no code: an unvalidated source may only greet; the server's own positive reply
 * validates it for a time; a validated source sends data under a rate of its own.
 */
export interface Filter<Type extends string = string> {
  /** The slug that callers name it by. */
  readonly type: Type;
  readonly name: string;
  readonly category: 'protocols' | 'games';
  readonly transport: 'tcp' | 'udp';
  /** In words, for people who choose one. */
  readonly description: string;
  /** What an unvalidated source may send; none: any packet may greet, and only the reply decides. */
  readonly greetings: readonly Signature[];
  /** Replies of the server that validate, never a mere challenge; none: any reply does. */
  readonly replies: readonly Signature[];
  /** Rates of one source, packets a second. Of TCP, `validatedPps` is of sources with a connection. */
  readonly rates: { readonly unvalidatedPps: number; readonly validatedPps: number };
  /**
   * Packets a second to one server port that pass from all unvalidated sources together (UDP): what a flood from
   * forged sources gets through, and so how fast it can make the server validate sources that do not exist.
   */
  readonly budgetPps: number;
  /** How long a validated source stays so without traffic, in seconds. */
  readonly validatedSeconds: number;
  /** The edge answers the TCP handshake for the server. */
  readonly synProxy: boolean;
  /** Connections of one source to one port (TCP); null: not limited. */
  readonly connections: ConnectionLimits | null;
}

export interface ConnectionLimits {
  readonly perSecond: number;
  readonly concurrent: number;
}

export interface Signature {
  /** Bytes at offsets of the payload, as hex. */
  readonly bytes: readonly { readonly offset: number; readonly hex: string }[];
  readonly minLength: number;
  readonly maxLength: number;
}
