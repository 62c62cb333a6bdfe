import type { FlowStart } from '@portcullis/core/firewall/denied-flow.ts';
import { deniedElement, LONGEST_SECONDS } from '../nftables/table/denied-flows.ts';
import { type Driver, DriverError, type MapChange } from '../nftables/driver.ts';
import type { FilterState } from '../nftables/filters/state.ts';
import type { Learned } from '../nftables/elements/learned-reader.ts';
import { elementCommands, linesOf } from '../nftables/table/render.ts';

/** The sets of denied connections, which would otherwise pass as replies. */
export const DENIED: readonly FilterState[] = ['denied_flows', 'denied_pairs'];

/** A connection to delete, and the remaining timeout of its conntrack entry. */
export interface Forgotten {
  readonly flow: FlowStart;
  readonly secondsLeft: number | null;
}

export interface DeniedMemory {
  /**
   * Adds the flows to the table, which then evaluates their replies. Resolves to false if a set is full, or the table
   * cannot be written now.
   */
  keep(flows: readonly Forgotten[]): Promise<boolean>;
}

/** Keeps them in sets of the table, which a rewrite preserves. `copy`: for a table that another program deletes. */
export function createDeniedMemory(
  driver: Pick<Driver, 'change'>,
  copy: (elements: readonly Learned[]) => void,
): DeniedMemory {
  return {
    keep: async (flows) => {
      const elements = flows.flatMap((one) => elementOf(one) ?? []);
      if (elements.length === 0) return true;
      copy(elements);
      try {
        await driver.change(asChange(elements));
        return true;
      } catch (error) {
        if (error instanceof DriverError && error.code === 'refused') return false;
        throw error;
      }
    },
  };
}

/** Returns null for protocols whose replies open no connection. */
export function elementOf({ flow, secondsLeft }: Forgotten): Learned | null {
  const { family, source: client, destination: server, protocol } = flow;
  const [clientPort, serverPort] = [flow.sourcePort, flow.destinationPort];
  const element = deniedElement({ family, client, server, protocol, clientPort, serverPort });
  if (element === null) return null;
  const { set, fields } = element;
  const seconds = Math.min(LONGEST_SECONDS, Math.max(element.seconds, secondsLeft ?? 0));
  return { set, family, fields, expiresAtMs: performance.now() + seconds * 1_000 };
}

/** The nft commands that add these elements with their remaining timeouts. */
export function addDenied(elements: readonly Learned[]): string {
  return elements.length === 0 ? '' : asChange(elements).text;
}

function asChange(elements: readonly Learned[]): Parameters<Driver['change']>[0] {
  const nowMs = performance.now();
  const sets = new Map<string, [string, null][]>();
  for (const { set, fields, expiresAtMs } of elements) {
    const seconds = Math.ceil((expiresAtMs - nowMs) / 1_000);
    const some = sets.get(set) ?? [];
    some.push([`${fields.join(' . ')} timeout ${seconds}s`, null]);
    sets.set(set, some);
  }
  const changes: MapChange[] = [...sets].map(([map, added]) => ({ map, removed: [], added }));
  const text = linesOf(elementCommands(changes));
  return { text, steps: { prepare: '', elements: changes, cleanup: '' } };
}
