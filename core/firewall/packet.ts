import type { Family } from '../net/address.ts';

/** A packet as an edge sees it: before DNAT, after reassembly unless `fragment` says otherwise. */
export interface Packet {
  readonly family: Family;
  /** Canonical address strings. */
  readonly source: string;
  readonly destination: string;
  /** IP protocol number of the upper layer: 1, 6, 17, 47, 50, 58, or any other. */
  readonly protocol: number;
  /** Of tcp and udp; null when the packet has none (other protocols, later fragments). */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** Of ICMP and ICMPv6. */
  readonly icmp: { readonly type: number; readonly code: number } | null;
  /** TTL or hop limit: neighbour discovery is only believed at 255. */
  readonly hopLimit: number;
  readonly fragment: 'none' | 'first' | 'later';
}

/** What the edge knows beside the packet. Every piece of state that a verdict needs is here, so `decide` stays pure. */
export interface PacketState {
  /**
   * Connection tracking says: a reply to (or an error about) a connection that the protected host opened. One that the
   * other side opened, and rules denied, is none, whoever of both connection tracking takes for the first since.
   */
  readonly returnTraffic: boolean;
  /** The rate of ICMP that always passes is not used up. */
  readonly icmpWithinRate: boolean;
  /** The destination's fragment limit is not used up. */
  readonly fragmentsWithinLimit: boolean;
  /** Connection tracking says: the protected host has answered this sender on these ports. */
  readonly answered: boolean;
  /** Mitigations with a limit that the packet is above, by ref. */
  readonly aboveLimit: readonly string[];
  /** What the filter on the port says of this source and packet; `pass` where no filter is enforced. */
  readonly filters: Readonly<Record<string, 'pass' | 'drop'>>;
}

/** The edge that judges: everything beside policies that a verdict depends on. */
export interface EdgeSettings {
  /** Addresses that the edge host itself holds (canonical). */
  readonly localAddresses: readonly string[];
  /** Stage 1, on local addresses only. Always passes. */
  readonly management: readonly ManagementPort[];
  /** `both`: the edge sees replies, so stage 4 holds. `inbound`: every packet is judged alone. */
  readonly sees: 'both' | 'inbound';
  /** `reassemble`: datagrams are judged whole. `limit`: later fragments are judged without ports. */
  readonly fragments: 'reassemble' | 'limit';
}

export interface ManagementPort {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

/** What the operator configured for this edge. `localAddresses` the agent reads from its host. */
export interface EdgeAssignment extends Omit<EdgeSettings, 'localAddresses'> {
  readonly name: string;
  readonly site: string;
  readonly devices: readonly string[];
}
