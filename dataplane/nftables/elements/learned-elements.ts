import type { Family } from '@portcullis/core/net/address.ts';
import { type ChangedPort, portIndex } from '../../filters/changes.ts';
import type { FilterState } from '../filters/state.ts';
import type { Layout } from '../table/layout.ts';
import { protocolNumber, TABLE } from '../names.ts';
import { addressOf } from './kernel-set.ts';

/** Without these, denied connections would pass as replies. */
export const DENIED: readonly FilterState[] = ['denied_flows', 'denied_pairs'];
const ELEMENTS_PER_COMMAND = 4096;

/** An element that packets added to a set of our table. */
export interface Learned {
  readonly set: string;
  readonly family: Family;
  readonly fields: readonly string[];
  /** On the clock of `performance.now`. */
  readonly expiresAtMs: number;
}

/** Whether any target has filters, so that sources are validated. */
export function hasFilters(targets: Layout['targets']): boolean {
  for (const { filters } of targets.values()) if (filters.ports.size > 0) return true;
  return false;
}

/** The nft commands that add these elements with their remaining timeouts, without expired ones. */
export function addLearned(elements: readonly Learned[]): string {
  const nowMs = performance.now();
  const bySet = new Map<string, string[]>();
  for (const { set, fields, expiresAtMs } of elements) {
    const seconds = Math.ceil((expiresAtMs - nowMs) / 1000);
    if (seconds <= 0) continue;
    const texts = bySet.get(set) ?? [];
    texts.push(`${fields.join(' . ')} timeout ${seconds}s`);
    bySet.set(set, texts);
  }
  let text = '';
  for (const [set, texts] of bySet) {
    for (let at = 0; at < texts.length; at += ELEMENTS_PER_COMMAND) {
      const some = texts.slice(at, at + ELEMENTS_PER_COMMAND).join(', ');
      text += `add element ${TABLE} ${set} { ${some} }\n`;
    }
  }
  return text;
}

/** The elements of other ports than these. */
export function withoutPorts(
  elements: readonly Learned[],
  ports: readonly ChangedPort[],
): Learned[] {
  const find = portIndex(ports);
  const [tcp, udp] = [protocolNumber('tcp'), protocolNumber('udp')];
  return elements.filter(({ set, family, fields }) => {
    if (set.startsWith('denied')) return true;
    const [, , server = '', port = ''] = fields;
    const value = addressOf(server);
    const protocol = set.startsWith('validated') ? udp : tcp;
    return value !== null && find(protocol, Number(port), () => value, family) === null;
  });
}
