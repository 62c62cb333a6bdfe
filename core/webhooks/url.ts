import type { Cidr } from '../net/cidr.ts';
import { failed, type Parsed, parsed } from '../net/parsed.ts';
import { mayConnect } from '../net/public-address.ts';

/**
 * A URL that a webhook may have: http or https, without credentials or fragment. A host that is an address must be
 * public or within `allowed`; what a name resolves to is checked at each delivery.
 */
export function parseWebhookUrl(text: string, allowed: readonly Cidr[]): Parsed<URL> {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return failed('must be a URL such as https://example.net/hook');
  }
  if (url.username !== '' || url.password !== '') {
    return failed('must have no user name or password: the signature shows who sends');
  }
  if (url.hash !== '') return failed('must have no fragment');
  const address = literalAddress(url);
  if (address !== null && !mayConnect(address, allowed)) {
    return failed(`names ${address}, and webhooks go to public addresses only`);
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
