import {
  FILTER_PASSES,
  FILTER_REASONS,
  type FilterPass,
  type FilterReason,
  HANDSHAKES,
} from '@portcullis/core/filters/reasons.ts';
import { protocolNumber } from '../nftables/names.ts';
import type { Driver } from '../nftables/driver.ts';
import { stateSet } from '../nftables/filters/state.ts';
import { parseSet, type SetElement } from '../nftables/elements/kernel-set.ts';

/** The drops of a port for one reason, or what it let through, since the kernel created the counter. */
export interface FilterCounter {
  /** The protected address, canonical. */
  readonly target: string;
  readonly protocol: number;
  readonly port: number;
  readonly reason: FilterReason | FilterPass;
  readonly packets: number;
  readonly bytes: number;
}

/**
 * Reads one small set of each family. A counter restarts when the whole table is written, and after an hour without
 * drops. Throws `DriverError`.
 */
export async function readFilterCounters(driver: Driver): Promise<FilterCounter[]> {
  const counters: FilterCounter[] = [];
  for (const family of [4, 6] as const) {
    counters.push(...countersOf(parseSet(await driver.list(stateSet('filtered', family)))));
  }
  return counters;
}

const REASONS = new Map(
  Object.entries({ ...FILTER_REASONS, ...FILTER_PASSES }).map(([reason, number]) => [
    number as number,
    reason as FilterCounter['reason'],
  ]),
);
type Handshakes = { [kind in keyof typeof HANDSHAKES]?: SetElement };

/** The fields of an element are address, protocol, port and reason. */
function countersOf(elements: readonly SetElement[]): FilterCounter[] {
  const counters = new Map<string, FilterCounter>();
  const add = (
    [target = '', protocol = '', port = '']: readonly string[],
    reason: FilterCounter['reason'],
    packets: number,
    bytes: number,
  ): void => {
    const key = `${target} ${protocol} ${port} ${reason}`;
    const known = counters.get(key);
    counters.set(key, {
      target,
      protocol: protocolNumber(protocol),
      port: Number(port),
      reason,
      packets: packets + (known?.packets ?? 0),
      bytes: bytes + (known?.bytes ?? 0),
    });
  };
  const handshakes = new Map<string, Handshakes>();
  for (const element of elements) {
    const number = Number(element.fields[3]);
    const reason = REASONS.get(number);
    if (reason !== undefined) add(element.fields, reason, element.packets, element.bytes);
    for (const kind of ['claimed', 'done'] as const) {
      if (number !== HANDSHAKES[kind]) continue;
      const key = element.fields.slice(0, 3).join(' ');
      handshakes.set(key, { ...handshakes.get(key), [kind]: element });
    }
  }
  for (const { claimed, done } of handshakes.values()) {
    if (done !== undefined) add(done.fields, 'validated', done.packets, done.bytes);
    if (claimed === undefined) continue;
    const failed = claimed.packets - (done?.packets ?? 0);
    if (failed <= 0) continue;
    const bytes = Math.round((claimed.bytes / claimed.packets) * failed);
    add(claimed.fields, 'syn-proxy-invalid', failed, bytes);
  }
  return [...counters.values()];
}
