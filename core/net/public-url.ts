import type { Cidr } from './cidr.ts';
import { failed, type Parsed, parsed } from './parsed.ts';
import { mayConnect } from './public-address.ts';

/**
 * A URL that a caller named and that software may open: http or https, without credentials. A host that is an address must
 * be public or within `opened`; what a name resolves to is checked when it is connected to.
 */
export function parsePublicUrl(text: string, opened: readonly Cidr[]): Parsed<URL> {
  const url = parseHttpUrl(text);
  const address = url.ok ? literalAddress(url.value) : null;
  if (address === null || mayConnect(address, opened)) return url;
  return failed(`names ${address}, and only public addresses are connected to`);
}

/** A URL of http or https without credentials, of any host. */
export function parseHttpUrl(text: string): Parsed<URL> {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return failed('must be a URL such as https://example.net/path');
  }
  if (url.username !== '' || url.password !== '') {
    return failed('must have no user name or password');
  }
  return parsed(url);
}

/** The address that a URL names itself, without a name to resolve. URL has made `127.1` and `0x7f000001` canonical. */
export function literalAddress({ hostname }: URL): string | null {
  const host = hostname.replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return '127.0.0.1';
  if (host.startsWith('[')) return host.slice(1, -1);
  return /^[\d.]+$/.test(host) ? host : null;
}
