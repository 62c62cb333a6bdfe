import {
  closeDescriptor,
  createMap,
  deleteElement,
  type Descriptor,
  lookupElement,
  type MapShape,
  updateElement,
} from '../../kernel/bpf/bpf.ts';
import { CounterArray } from '../../kernel/bpf/counter-array.ts';
import type { ForwardPort } from '../driver/driver.ts';
import { markNow } from '../flows/mark-keys.ts';
import { LAYOUT } from '../maps/layout.ts';

const NAMES = ['passes', 'forwarding', 'ports', 'forwarded'] as const;
type Name = (typeof NAMES)[number];

const FIRST = Buffer.alloc(4);
/** `struct forwarding` and `struct port` of layout.h. */
export const FORWARDING_BYTES = 8;
export const PORT_BYTES = 8;
const MAC_BYTES = 6;
/** The fields of `struct counter`. */
const COUNTER_FIELDS = 2;
/** The programs stop by themselves soon after the agent: it alone notices what forwarded packets would skip. */
const LEASE_SECONDS = 10;
const SMALLEST = 64;

/** The maps of the fast path. They do not depend on rules, so that flows stay known when rules are loaded again. */
export class ForwardMaps {
  readonly maps: Readonly<Record<Name, Descriptor>>;
  readonly #counter: CounterArray;
  readonly #mask: number;
  /** The ports in the map, as hexadecimal values by index. */
  readonly #ports = new Map<number, string>();
  /** The ports that answers have entered by. */
  readonly #answering = new Set<number>();

  /** `flows`: the number of flows to have places for. Throws `SystemError`. */
  constructor(shapes: Readonly<Record<string, MapShape>>, flows: number) {
    const indexes = indexesFor(flows);
    const made: [Name, Descriptor][] = [];
    try {
      for (const name of NAMES) {
        const shape = shapes[name];
        if (shape === undefined) throw new Error(`the artifact has no map ${name}`);
        const sized = name === 'passes' ? { ...shape, maxEntries: indexes } : shape;
        made.push([name, createMap(name, sized)]);
      }
    } catch (error) {
      for (const [, descriptor] of made) closeDescriptor(descriptor);
      throw error;
    }
    this.maps = Object.fromEntries(made) as Record<Name, Descriptor>;
    this.#counter = new CounterArray(this.maps.forwarded, COUNTER_FIELDS);
    this.#mask = indexes - 1;
    this.#writeUntil(0);
  }

  /** Forwards between these devices for some seconds; null: not at all. */
  forward(ports: readonly ForwardPort[] | null): void {
    if (ports === null) {
      this.#writeUntil(0);
      return;
    }
    this.#writePorts(ports);
    this.#writeUntil(markNow() + LEASE_SECONDS);
  }

  /** The number of packets that were forwarded. */
  forwarded(): number {
    return this.#counter.read(0, 1)[0] ?? 0;
  }

  /** The ports that answers have entered by. */
  answering(): ReadonlySet<number> {
    const value = Buffer.alloc(PORT_BYTES);
    for (const ifindex of this.#ports.keys()) {
      if (this.#answering.has(ifindex) || !lookupElement(this.maps.ports, keyOf(ifindex), value))
        continue;
      const flags = value.readUInt16LE(MAC_BYTES);
      if ((flags & LAYOUT.PORT_ANSWERS) !== 0) this.#answering.add(ifindex);
    }
    return this.#answering;
  }

  close(): void {
    Object.values(this.maps).forEach(closeDescriptor);
  }

  #writeUntil(second: number): void {
    const value = Buffer.alloc(FORWARDING_BYTES);
    value.writeUInt32LE(second, 0);
    value.writeUInt32LE(this.#mask, 4);
    updateElement(this.maps.forwarding, FIRST, value);
  }

  #writePorts(ports: readonly ForwardPort[]): void {
    const wanted = new Map(ports.map((port) => [port.ifindex, valueOf(port)]));
    for (const ifindex of this.#ports.keys()) {
      if (wanted.has(ifindex)) continue;
      deleteElement(this.maps.ports, keyOf(ifindex));
      this.#ports.delete(ifindex);
      this.#answering.delete(ifindex);
    }
    for (const [ifindex, value] of wanted) {
      const text = value.toString('hex');
      if (this.#ports.get(ifindex) === text) continue;
      updateElement(this.maps.ports, keyOf(ifindex), value);
      this.#ports.set(ifindex, text);
    }
  }
}

/** A power of two: flows are spread by their hash, so places are twice as many. */
function indexesFor(flows: number): number {
  let indexes = SMALLEST;
  while (indexes * LAYOUT.PASS_WAYS < flows * 2) indexes *= 2;
  return indexes;
}

function keyOf(ifindex: number): Buffer {
  const key = Buffer.alloc(4);
  key.writeUInt32LE(ifindex, 0);
  return key;
}

function valueOf({ mac, isEntry, isExit, isTcExit, needsChecks }: ForwardPort): Buffer {
  const value = Buffer.alloc(PORT_BYTES);
  mac.copy(value, 0, 0, MAC_BYTES);
  const flags =
    (isEntry ? LAYOUT.PORT_IN : 0) |
    (isExit ? LAYOUT.PORT_OUT : 0) |
    (isTcExit ? LAYOUT.PORT_TC_OUT : 0) |
    (needsChecks ? LAYOUT.PORT_CHECKS : 0);
  value.writeUInt16LE(flags, MAC_BYTES);
  return value;
}
