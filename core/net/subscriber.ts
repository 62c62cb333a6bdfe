import { canonicalAddress } from './address.ts';

/**
 * The block of one subscriber: an IPv4 address, or an IPv6 /64. Sources are canonical, so the first groups of an IPv6
 * address may be shortened by `::`.
 */
export function subscriberBlock(source: string): string {
  if (!source.includes(':')) return source;
  const [head = '', tail] = source.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  return [...groups, ...Array.from({ length: zeros }, () => '0'), ...after].slice(0, 4).join(':');
}

/** The address of the other side of a socket in its canonical form, of a link-local one without the zone. Empty: it has none. */
export function sourceOf({
  remoteAddress = '',
}: {
  readonly remoteAddress?: string | undefined;
}): string {
  return canonicalAddress(remoteAddress.replace(/^::ffff:/, '').replace(/%.*$/, '')) ?? '';
}
