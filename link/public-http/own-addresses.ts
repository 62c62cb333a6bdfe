import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { type Address, formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import type { Resolve } from './resolve.ts';

/** Addresses that webhooks must not reach, whatever they are. */
export type LoadAddresses = () => Promise<readonly Address[]>;

export interface Installation {
  /** Hosts of this installation, as names or addresses: what its URLs name, and what agents listen at. */
  readonly hosts: () => Promise<readonly string[]>;
  readonly resolve: Resolve;
}

const REMEMBERED_MS = 30_000;
/** A port of UDP; nothing is sent to it. */
const ANY_PORT = 9;

/** The addresses of an installation's hosts, looked up again after a while. A name that does not resolve has none. */
export function installationAddresses({ hosts, resolve }: Installation): LoadAddresses {
  let found: Promise<readonly Address[]> | null = null;
  let until = 0;
  const load = async (): Promise<readonly Address[]> => {
    const names = [...new Set(await hosts())].filter((name) => name !== '');
    const all = names.map(async (name) => {
      const address = parseAddress(name.replace(/^\[|\]$/g, ''));
      return address.ok ? [address.value] : addressesOf(await resolve(name).catch(() => []));
    });
    return (await Promise.all(all)).flat();
  };
  return () => {
    const now = performance.now();
    if (found === null || now >= until) {
      until = now + REMEMBERED_MS;
      found = load();
      found.catch(() => (until = 0));
    }
    return found;
  };
}

/** The addresses of this host's interfaces, which may change at any moment. */
export function interfaceAddresses(): Address[] {
  return addressesOf(
    Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
  );
}

/**
 * Addresses: those of the IPv4 addresses that the kernel delivers to this host itself, also without an interface that
 * has them (`ip route add local`): it would use the same address as the source, which it does not for IPv6. Nothing
 * is sent.
 */
export async function deliveredHere(addresses: readonly Address[]): Promise<Address[]> {
  const asked = addresses.filter(({ family }) => family === 4);
  const isHere = await Promise.all(asked.map(isDeliveredHere));
  return asked.filter((_, index) => isHere[index]);
}

function isDeliveredHere(address: Address): Promise<boolean> {
  const text = formatAddress(address);
  const socket = createSocket('udp4');
  return new Promise((resolve) => {
    const end = (isHere: boolean): void => {
      socket.close();
      resolve(isHere);
    };
    // Such as no route.
    socket.once('error', () => end(false));
    socket.connect(ANY_PORT, text, () => end(socket.address().address === text));
  });
}

/** Addresses, without texts that are no address of ours, such as mapped ones. */
export function addressesOf(texts: readonly string[]): Address[] {
  return texts.flatMap((text) => {
    const address = parseAddress(text);
    return address.ok ? [address.value] : [];
  });
}
