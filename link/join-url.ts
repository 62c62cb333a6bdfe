import { isLoopbackHost } from '@portcullis/core/net/public-address.ts';

/**
 * The URL of control by which a host can join; null if it cannot. Plain HTTP would show the credential to the network, so it
 * is for this host alone. An address of all interfaces (`0.0.0.0`) is none that another host can use.
 */
export function parseJoinUrl(text: string): URL | null {
  const url = URL.parse(text.trim());
  if (url === null || ['0.0.0.0', '[::]'].includes(url.hostname)) return null;
  const isLocal = url.protocol === 'http:' && isLoopbackHost(url.hostname);
  return url.protocol === 'https:' || isLocal ? url : null;
}
