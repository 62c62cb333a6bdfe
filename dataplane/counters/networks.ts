import { BITS } from '@portcullis/core/net/address.ts';
import { type Cidr, formatNetwork } from '@portcullis/core/net/cidr.ts';

export function isAddress({ family, length }: Cidr): boolean {
  return length === BITS[family];
}

/** Networks by canonical name, each once. */
export function byName(networks: readonly Cidr[]): Map<string, Cidr> {
  return new Map(networks.map((network) => [formatNetwork(network), network]));
}
