import type { FlowStart } from '@portcullis/core/firewall/denied-flow.ts';
import { deniedElement, LONGEST_SECONDS } from '../nftables/table/denied-flows.ts';
import { type Driver, DriverError, type MapChange } from '../nftables/driver.ts';
import type { Learned } from '../nftables/elements/learned-elements.ts';
import type { LearnedMemory } from '../nftables/elements/learned-memory.ts';
import { elementCommands, linesOf } from '../nftables/table/render.ts';

/** A connection that is about to be forgotten, and how long it would have been known without another packet. */
export interface Forgotten {
  readonly flow: FlowStart;
  readonly secondsLeft: number | null;
}

export interface DeniedMemory {
  /** The table judges answers to these from now on. False: it does not, for want of room or for now. */
  keep(flows: readonly Forgotten[]): Promise<boolean>;
}

/** In sets of the table, which outlive a rewrite of it. */
export function createDeniedMemory(
  driver: Pick<Driver, 'change'>,
  learned: Pick<LearnedMemory, 'add'>,
): DeniedMemory {
  return {
    keep: async (flows) => {
      const elements = flows.flatMap((one) => elementOf(one) ?? []);
      if (elements.length === 0) return true;
      learned.add(elements);
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

/** Null: nothing is remembered of what answers it. */
export function elementOf({ flow, secondsLeft }: Forgotten): Learned | null {
  const { family, source: client, destination: server, protocol } = flow;
  const [clientPort, serverPort] = [flow.sourcePort, flow.destinationPort];
  const element = deniedElement({ family, client, server, protocol, clientPort, serverPort });
  if (element === null) return null;
  const { set, fields } = element;
  const seconds = Math.min(LONGEST_SECONDS, Math.max(element.seconds, secondsLeft ?? 0));
  return { set, family, fields, expiresAtMs: performance.now() + seconds * 1_000 };
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
