import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { Tx } from '../../db/database.ts';
import { type ChangedAddress, loadChangedPolicy } from '../../fleet/policies/policies.ts';
import { findClosedPorts } from '../explain/closed-ports.ts';
import type { SourceSetLoader } from '../explain/policy-sets.ts';
import { portList } from '@portcullis/core/net/ports.ts';
import type { FilterContent } from '@portcullis/core/firewall/rules/content.ts';

/** More filters are not looked at. */
const MAX_FILTERS = 101;

/** A sentence on new filters whose ports are closed to everyone once the change is made. */
export async function explainBehindClosed(
  deps: SourceSetLoader,
  tx: Tx,
  ip: string,
  created: readonly FilterContent[],
  changed: ChangedAddress,
): Promise<string[]> {
  if (created.length === 0) return [];
  const { after } = await loadChangedPolicy(tx, ip, changed);
  const ports = created.slice(0, MAX_FILTERS).flatMap(({ type, port }) => {
    const filter = findFilter(type);
    return (['tcp', 'udp'] as const).flatMap((protocol) =>
      (filter?.[protocol] ?? null) === null ? [] : [{ ip, port, protocol }],
    );
  });
  const closed = await findClosedPorts(deps, tx, ports, after);
  const isClosed = (one: (typeof ports)[number]): boolean =>
    closed.some(({ port, protocol }) => port === one.port && protocol === one.protocol);
  // A filter of both protocols is of use on either.
  const reached = new Set(ports.filter((one) => !isClosed(one)).map(({ port }) => port));
  const useless = closed.filter(({ port }) => !reached.has(port));
  return [...Map.groupBy(useless, ({ explanation }) => explanation)].map(([explanation, list]) => {
    const numbers = [...new Set(list.map(({ port }) => port))].toSorted((a, b) => a - b);
    return `Nothing reaches the filter on ${portList(numbers)} now. ${explanation} Open it too.`;
  });
}
