import type { LookupFunction } from 'node:net';
import { formatAddress } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import { mayReach } from '@portcullis/core/net/public-address.ts';
import { literalAddress, parseWebhookUrl } from '@portcullis/core/webhooks/url.ts';
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

const MOST_ADDRESSES = 4;
/** Addresses of a name, whose owner chooses how many it has. */
const MOST_FOUND = 16;

/**
 * Resolves a URL that a caller named. The connection goes to an address that was checked, so a name that changes its
 * address between check and use gains nothing. Rejects where none of its addresses may be reached.
 */
export async function findPublicTarget(
  text: string,
  { networks, resolve = resolveName, own = async () => [] }: Reach,
  signal: AbortSignal,
): Promise<PublicTarget> {
  const url = parseWebhookUrl(text, networks);
  if (!url.ok) throw new Error(`the URL ${url.reason}`);
  const literal = literalAddress(url.value);
  const names = literal === null ? resolve(url.value.hostname) : [literal];
  const [texts, installation] = await unless(signal, Promise.all([names, own()]));
  const found = addressesOf(texts.slice(0, MOST_FOUND));
  const here = [...installation, ...interfaceAddresses(), ...(await deliveredHere(found))];
  const usable = found.filter((address) => mayReach(address, { opened: networks, own: here }));
  if (usable.length === 0) throw new Error(`none of its addresses may be reached: ${texts}`);
  const checked = usable
    .slice(0, MOST_ADDRESSES)
    .map((one) => ({ address: formatAddress(one), family: one.family }));
  const lookup: LookupFunction = (_name, { all }, done) => {
    const [first = { address: '', family: 4 }] = checked;
    if (all === true) done(null, checked);
    else done(null, first.address, first.family);
  };
  return { url: url.value, lookup };
}

/** Rejects when the signal is aborted first; the promise goes on without a reader. */
async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
