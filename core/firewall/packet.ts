import type { FilterState } from '../filters/evaluate.ts';
import type { Family } from '../net/address.ts';

/** A packet as an edge sees it: before DNAT, after reassembly unless `fragment` says otherwise. */
export interface Packet {
  readonly family: Family;
  /** Canonical address strings. */
  readonly source: string;
  readonly destination: string;
  /** IP protocol number of the upper layer: 1, 6, 17, 47, 50, 58, or any other. */
  readonly protocol: number;
  /** A port of tcp and udp; null when the packet has none (other protocols, later fragments). */
  readonly sourcePort: number | null;
  readonly destinationPort: number | null;
  /** The type of ICMP and ICMPv6. */
  readonly icmp: { readonly type: number; readonly code: number } | null;
  /** TTL or hop limit: neighbour discovery is valid at 255 only. */
  readonly hopLimit: number;
  readonly fragment: 'none' | 'first' | 'later';
}

/** The state that a verdict needs beside the packet, so that `decide` stays pure. */
export interface PacketState {
  /**
   * The packet is a reply to, or an error about, a connection that the protected host opened, by connection tracking. A
   * connection that the other side opened and that rules denied does not count, even if conntrack has the directions
   * swapped.
   */
  readonly returnTraffic: boolean;
  /** The ICMP packet is within the rate that always passes. */
  readonly icmpWithinRate: boolean;
  /** The fragment is within the destination's limit. */
  readonly fragmentsWithinLimit: boolean;
  /**
   * The protected host has answered this sender on these ports, by connection tracking. Never of a SYN. A mitigation that
   * drops a source counts a UDP flow only if it was two seconds old at its first packet since.
   */
  readonly answered: boolean;
  /** The refs of mitigations whose limit the packet exceeds. */
  readonly aboveLimit: readonly string[];
  /** The state that filters on the port read of it; null: they do not evaluate it. */
  readonly filtered: FilterState | null;
}

/** The settings of an edge that a verdict depends on. */
export interface EdgeSettings {
  /** The canonical addresses of the edge host. */
  readonly localAddresses: readonly string[];
  /** Stage 1, on local addresses only. Always passes. */
  readonly management: readonly ManagementPort[];
  /** `both`: the edge sees replies, so stage 4 applies. `inbound`: every packet is evaluated by itself. */
  readonly sees: 'both' | 'inbound';
  /** `reassemble`: datagrams are evaluated whole. `limit`: later fragments are evaluated without ports. */
  readonly fragments: 'reassemble' | 'limit';
}

export interface ManagementPort {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

/** The operator's configuration of an edge. The agent reads `localAddresses` from its host. */
export interface EdgeAssignment extends Omit<EdgeSettings, 'localAddresses'> {
  readonly name: string;
  readonly site: string;
  readonly devices: readonly string[];
}
