import type { PortRange } from '../net/ports.ts';

/**
 * A stateful filter as data: what it does to each transport on its ports. All UDP game filters are the same state
 * machine and all TCP filters are another, so a new filter is only a new file.
 */
export interface Filter<Type extends string = string> {
  /** The slug used by callers. */
  readonly type: Type;
  readonly name: string;
  readonly category: 'protocols' | 'games';
  /** A description for callers. */
  readonly description: string;
  /** The default ports of servers; empty if there is none. */
  readonly usualPorts: readonly number[];
  /** Null: UDP packets to the port are not filtered. */
  readonly udp: UdpFilter | null;
  /** Null: TCP segments to the port are not filtered. */
  readonly tcp: TcpFilter | null;
  /** Limits on the packets of every source, validated or not. Absent: none. */
  readonly packets?: PacketLimits;
}

export interface PacketLimits {
  /** Lengths of UDP payloads, in bytes. Null: any. */
  readonly lengths: { readonly min: number; readonly max: number } | null;
  /** Null: any. */
  readonly sourcePorts: readonly PortRange[] | null;
}

export type Transport = 'udp' | 'tcp';

/**
 * An unvalidated source may send only greetings; a positive reply of the server validates it for a time; a validated
 * source sends data within its own rate. Its greetings keep the limits of an unvalidated source.
 */
export interface UdpFilter {
  /** The packets that an unvalidated source may send. Empty: any packet. */
  readonly greetings: readonly Signature[];
  /**
   * The server replies that validate a source: only those that a source with a forged address cannot cause, so never a
   * challenge. Empty: any reply. Null: no reply validates, because the server answers every source.
   */
  readonly replies: readonly Signature[] | null;
  /** The packets that a validated source may send besides greetings. Empty: any packet. */
  readonly data: readonly Signature[];
  /** The packets of connections that may begin anywhere. Absent: none. */
  readonly roaming?: Roaming | null;
  /** Rates of one source in packets per second. */
  readonly rates: { readonly unvalidatedPps: number; readonly validatedPps: number };
  /**
   * The total packets per second from all unvalidated sources to one server port. It bounds the part of a flood from
   * forged sources that passes, and the rate at which the server validates forged sources.
   */
  readonly budgetPps: number;
  /** How long a source stays validated without traffic, in seconds. */
  readonly validatedSeconds: number;
}

/**
 * Packets that a client of an open connection sends that the filter has not seen, because its address changed, or
 * before the server's first reply that validates. It has rates of its own, so that a flood of it leaves those of
 * greetings free.
 */
export interface Roaming {
  /**
   * From the one whose answers validate most easily to the strictest. A flow has the strictest kind that it has sent.
   */
  readonly kinds: readonly [RoamingKind] | readonly [RoamingKind, RoamingKind];
  /** Rates of one source, and of all sources to one server port, in packets per second. */
  readonly rates: { readonly sourcePps: number; readonly budgetPps: number };
}

export interface RoamingKind {
  readonly packets: readonly Signature[];
  /**
   * The server replies that validate a source of such packets, in place of the filter's replies: those that none of the
   * packets causes if it is forged.
   */
  readonly replies: readonly Signature[];
}

/** The edge sees a connection only after its handshake; then the first payload must be an opening. */
export interface TcpFilter {
  /** How the first payload of a connection may begin; lengths do not apply. Empty: any payload. */
  readonly openings: readonly Opening[];
  /** The edge answers the handshake for the server. */
  readonly synProxy: boolean;
  /** Packets per second of one source with a connection. */
  readonly validatedPps: number;
  /** Connections of one source to one port. Null: not limited. */
  readonly connections: ConnectionLimits | null;
  /**
   * Connections per second that the SYN proxy opens to one server port, for all sources. Null or absent: not limited.
   */
  readonly newPerSecond?: number | null;
}

export interface ConnectionLimits {
  readonly perSecond: number;
  readonly concurrent: number;
}

/** Bytes that must be there. The payload must be long enough to have them. */
export interface Opening {
  readonly bytes: readonly SignatureBytes[];
}

export interface Signature extends Opening {
  readonly minLength: number;
  readonly maxLength: number;
}

export interface SignatureBytes {
  /** From the begin of the payload. */
  readonly offset: number;
  readonly hex: string;
  /** The bits that are compared, as hex of the same length. Absent: all. */
  readonly mask?: string;
}

/** The longest payload of a UDP packet, in bytes. */
export const MAX_PAYLOAD = 65_507;

/** A signature of bytes at offset 0, such as `'ffffffff54'`, or at several offsets with masks. Lengths are in bytes. */
export function signature(
  bytes: string | readonly SignatureBytes[],
  minLength: number,
  maxLength: number = MAX_PAYLOAD,
): Signature {
  return { ...opening(bytes), minLength, maxLength };
}

export function opening(bytes: string | readonly SignatureBytes[]): Opening {
  return { bytes: typeof bytes === 'string' ? [{ offset: 0, hex: bytes }] : bytes };
}

/** The hex of ASCII text. */
export function ascii(text: string): string {
  return Array.from(text, (one) => one.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}

/** The start of a packet of the Source and Quake engines that belongs to no connection. */
export function connectionless(text: string): string {
  return `ffffffff${ascii(text)}`;
}

/** The limits of a game on UDP. */
export const GAME_LIMITS = {
  rates: { unvalidatedPps: 20, validatedPps: 1000 },
  budgetPps: 500,
  validatedSeconds: 60,
} as const satisfies Partial<UdpFilter>;
