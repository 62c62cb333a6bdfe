import type { BodyOf } from '@portcullis/contract/operation-types.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { Problem } from '../../problem.ts';
import { familyOf } from '@portcullis/core/firewall/rules/content.ts';

export type PacketRequest = BodyOf<'explainPacket'>;
/** With the port that it names, as a number. */
type NumberedRequest = Omit<PacketRequest, 'destination_port' | 'source_ip'> & {
  readonly source_ip: string;
  readonly destination_port?: number | null;
};

/** Protocol numbers: https://www.iana.org/assignments/protocol-numbers */
const NUMBERS = { tcp: 6, udp: 17, gre: 47, esp: 50 } as const;
const ICMP = 1;
const ICMPV6 = 58;
/** An arbitrary client port; no rule matches on it. */
const ANY_PORT = 49_152;

/** Returns the packet of the request; throws 422 when its fields contradict each other. */
export function readPacket(ip: string, request: NumberedRequest): Packet {
  const family = familyOf(ip);
  const source = canonicalAddress(request.source_ip);
  if (source === null || familyOf(source) !== family) {
    throw invalid('/source_ip', `must be an IPv${family} address, as the destination is`);
  }
  const protocol = numberOf(request.protocol, family);
  const hasPorts = protocol === NUMBERS.tcp || protocol === NUMBERS.udp;
  const isIcmp = protocol === ICMP || protocol === ICMPV6;
  for (const field of ['source_port', 'destination_port'] as const) {
    if ((request[field] ?? null) !== null && !hasPorts)
      throw invalid(`/${field}`, 'belongs to tcp and udp only');
  }
  for (const field of ['icmp_type', 'icmp_code'] as const) {
    if (request[field] !== undefined && !isIcmp) throw invalid(`/${field}`, 'belongs to icmp only');
  }
  if (hasPorts && (request.destination_port ?? null) === null) {
    throw invalid('/destination_port', 'is required with tcp and udp');
  }
  return {
    family,
    source,
    destination: ip,
    protocol,
    sourcePort: hasPorts ? (request.source_port ?? ANY_PORT) : null,
    destinationPort: hasPorts ? (request.destination_port ?? null) : null,
    icmp: isIcmp
      ? { type: request.icmp_type ?? echoOf(family), code: request.icmp_code ?? 0 }
      : null,
    hopLimit: 64,
    fragment: 'none',
  };
}

/** A whole packet of which no more is known: from an arbitrary port, or an echo request. */
export function packetOf(
  ip: string,
  known: { readonly protocol: number; readonly port: number | null; readonly source: string },
): Packet {
  const { protocol, port, source } = known;
  const family = familyOf(ip);
  const isIcmp = protocol === ICMP || protocol === ICMPV6;
  return {
    family,
    source,
    destination: ip,
    protocol,
    sourcePort: port === null ? null : ANY_PORT,
    destinationPort: port,
    icmp: isIcmp ? { type: echoOf(family), code: 0 } : null,
    hopLimit: 64,
    fragment: 'none',
  };
}

function echoOf(family: 4 | 6): number {
  return family === 4 ? 8 : 128;
}

function numberOf(protocol: PacketRequest['protocol'], family: 4 | 6): number {
  if (typeof protocol === 'number') return protocol;
  if (protocol === 'icmp') return family === 4 ? ICMP : ICMPV6;
  for (const [name, number] of Object.entries(NUMBERS)) if (name === protocol) return number;
  throw new Error(`the contract has a protocol that is unknown here: ${protocol}`);
}

/** 422 for a packet that cannot be. */
export function invalid(pointer: string, detail: string): Problem {
  return new Problem(
    'invalid_request',
    `The packet is not possible: ${pointer.slice(1)} ${detail}.`,
    {
      errors: [{ pointer, detail }],
    },
  );
}
