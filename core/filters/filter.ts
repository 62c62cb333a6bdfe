/**
 * A stateful filter as data. All UDP game filters are the same state machine, so a new filter is only a new file: an
 * unvalidated source may send only greetings; a positive reply of the server validates it for a time; a validated
 * source sends data within its own rate.
 */
export interface Filter<Type extends string = string> {
  /** The slug used by callers. */
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
   * The total packets per second from all unvalidated sources to one server port (UDP). It bounds the part of a flood
   * from forged sources that passes, and the rate at which the server validates forged sources.
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
