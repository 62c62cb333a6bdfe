import type { Cidr } from '../net/cidr.ts';
import { failed, type Parsed } from '../net/parsed.ts';
import { parsePublicUrl } from '../net/public-url.ts';

/** A URL that a webhook may have: one that software may open, without a fragment. */
export function parseWebhookUrl(text: string, allowed: readonly Cidr[]): Parsed<URL> {
  const url = parsePublicUrl(text, allowed);
  if (url.ok && url.value.hash !== '') return failed('must have no fragment');
  return url;
}
