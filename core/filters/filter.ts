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
  /** A description for callers. */
  readonly description: string;
  /** The packets that an unvalidated source may send. Empty: any packet, and only the reply decides. */
  readonly greetings: readonly Signature[];
  /** The server replies that validate a source, never a mere challenge. Empty: any reply. */
  readonly replies: readonly Signature[];
  /** Rates of one source in packets per second. For TCP, `validatedPps` applies to sources with a connection. */
  readonly rates: { readonly unvalidatedPps: number; readonly validatedPps: number };
  /**
   * Packets a second to one server port that pass from all unvalidated sources together (UDP): what a flood from
   * forged sources gets through, and so how fast it can make the server validate sources that do not exist.
   */
  readonly budgetPps: number;
  /** How long a source stays validated without traffic, in seconds. */
  readonly validatedSeconds: number;
  /** The edge answers the TCP handshake for the server. */
  readonly synProxy: boolean;
  /** Connections of one source to one port (TCP). Null: not limited. */
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
