import type { LookupFunction } from 'node:net';
import { type Address, formatAddress } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { mayReach } from '@portcullis/core/net/public-address.ts';
import { literalAddress, parsePublicUrl } from '@portcullis/core/net/public-url.ts';
import {
  addressesOf,
  deliveredHere,
  interfaceAddresses,
  type LoadAddresses,
} from './own-addresses.ts';
import { type Resolve, resolveName } from './resolve.ts';

/** Networks that a request to an address that a caller named may reach. */
export interface Reach {
  /** Networks that are reached though they are not public. */
  readonly networks: readonly Cidr[];
  /** Networks that are not reached, whatever they are; default: none. */
  readonly closed?: readonly Cidr[] | undefined;
  /** The addresses of a name; default: of DNS. */
  readonly resolve?: Resolve | undefined;
  /** Addresses that are not reached, beside those of this host's interfaces; default: none. */
  readonly own?: LoadAddresses | undefined;
}

/** A URL, and a lookup that answers with addresses that were checked. */
export interface PublicTarget {
  readonly url: URL;
  readonly lookup: LookupFunction;
}

/** Says that a URL leads to nothing that may be reached. */
export class NotReachable extends Error {
  override readonly name = 'NotReachable';
}

const MOST_ADDRESSES = 4;
/** Addresses of a name, whose owner chooses how many it has. */
const MOST_FOUND = 16;

/**
 * Resolves a URL that a caller named. The connection goes to an address that was checked, so a name that changes its
 * address between check and use gains nothing. Rejects with `NotReachable` where none of its addresses may be reached.
 */
export async function findPublicTarget(
  text: string,
  { networks, closed = [], resolve = resolveName, own = async () => [] }: Reach,
  signal: AbortSignal,
): Promise<PublicTarget> {
  const url = parsePublicUrl(text, networks);
  if (!url.ok) throw new NotReachable(`the URL ${url.reason}`);
  const literal = literalAddress(url.value);
  const names = literal === null ? resolved(url.value.hostname, resolve) : [literal];
  const [texts, installation] = await unless(signal, Promise.all([names, own()]));
  const found = addressesOf(texts.slice(0, MOST_FOUND));
  const here = [...installation, ...interfaceAddresses(), ...(await deliveredHere(found))];
  const reach = { opened: networks, closed, own: here };
  const usable = found.filter((address) => mayReach(address, reach));
  if (usable.length === 0)
    throw new NotReachable(`none of its addresses may be reached: ${texts.join(' ')}`);
  return { url: url.value, lookup: lookupOf(usable.slice(0, MOST_ADDRESSES)) };
}

async function resolved(name: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(name);
  } catch (error) {
    throw new NotReachable(`the name ${name} does not resolve`, { cause: error });
  }
}

/** Answers every name with these addresses. */
function lookupOf(addresses: readonly Address[]): LookupFunction {
  const checked = addresses.map((one) => ({ address: formatAddress(one), family: one.family }));
  return (_name, { all }, done) => {
    const [first = { address: '', family: 4 }] = checked;
    if (all === true) done(null, checked);
    else done(null, first.address, first.family);
  };
}

/** Rejects when the signal is aborted first; the promise goes on without a reader. */
async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
