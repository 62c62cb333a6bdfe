import type { PolicyFilter } from '../firewall/policy.ts';
import { FILTERS } from './catalogue.ts';
import type { Filter } from './filter.ts';

/**
 * The TCP ports behind a SYN proxy, ascending. There the proxy admits everyone who completes a handshake and no one else, so a
 * rate limit of unanswered sources would only refuse real clients, whose handshakes it cannot tell from the flood.
 */
export function proxiedPorts(
  filters: readonly PolicyFilter[],
  catalogue: readonly Filter[] = FILTERS,
): number[] {
  const proxies = new Set(catalogue.filter(({ tcp }) => tcp?.synProxy).map(({ type }) => type));
  const ports = filters.filter(({ type }) => proxies.has(type)).map(({ port }) => port);
  return [...new Set(ports)].toSorted((a, b) => a - b);
}
