import type { Cidr } from '@portcullis/core/net/cidr.ts';
import {
  closeDescriptor,
  createMap,
  deleteElement,
  type Descriptor,
  type MapShape,
  updateElement,
  updateElements,
} from '../../kernel/bpf/bpf.ts';
import { CounterArray } from '../../kernel/bpf/counter-array.ts';
import { mapMemory, type MappedMemory } from '../../kernel/bpf/memory.ts';
import { RingBuffer } from '../../kernel/bpf/ring-buffer.ts';
import { addressBytes, addressHash, LAYOUT, prefixKey } from '../maps/layout.ts';
import { PacketSamples } from './packet-samples.ts';

const NAMES = [
  'watched_4',
  'watched_6',
  'around_4',
  'around_6',
  'cells',
  'classes',
  'suspects',
  'reported_samples',
  'counting',
] as const;
type Name = (typeof NAMES)[number];

/** The number of counters in `struct cell` and `struct vector_counters` of layout.h. */
export const CELL_FIELDS = 6;
export const VECTOR_FIELDS = LAYOUT.VECTORS * 2;
const WATCHED_BYTES = 8;
/** `struct counting` of layout.h. */
const CLASSIFIED_AT = 8;
const VECTOR_SLOTS_AT = CLASSIFIED_AT + LAYOUT.REPORTED_WORDS * 8;
export const COUNTING_BYTES = VECTOR_SLOTS_AT + LAYOUT.CELLS * 4;
/** `struct suspect` of layout.h. */
export const SUSPECT_BYTES = 40;
const SUSPECT_WORDS = SUSPECT_BYTES / 4;

/** `struct watched` of layout.h. */
export interface Watched {
  readonly cell: number;
  readonly networkCell: number;
}

/** The maps of traffic counters, which do not depend on rules. Written as layout.h describes. */
export class CounterMaps {
  readonly maps: Readonly<Record<Name, Descriptor>>;
  readonly samples: PacketSamples;
  readonly cells: CounterArray;
  readonly classes: CounterArray;
  readonly #counting: MappedMemory;
  readonly #suspects: MappedMemory;
  readonly #words: Uint32Array;
  readonly #ring: RingBuffer;
  #closed = false;

  /** Throws `SystemError`. */
  constructor(shapes: Readonly<Record<string, MapShape>>) {
    const made: [Name, Descriptor][] = [];
    const mapped: MappedMemory[] = [];
    try {
      for (const name of NAMES) made.push([name, createMap(name, shapeOf(name, shapes))]);
      this.maps = Object.fromEntries(made) as Record<Name, Descriptor>;
      const map = (name: Name, length: number, writable: boolean): MappedMemory => {
        const memory = mapMemory(this.maps[name], { offset: 0, length, writable });
        mapped.push(memory);
        return memory;
      };
      this.#counting = map('counting', COUNTING_BYTES, true);
      this.#suspects = map('suspects', LAYOUT.SUSPECTS * SUSPECT_BYTES, false);
      this.#ring = new RingBuffer(
        this.maps.reported_samples,
        shapeOf('reported_samples', shapes).maxEntries,
      );
    } catch (error) {
      for (const memory of mapped) memory.unmap();
      for (const [, descriptor] of made) closeDescriptor(descriptor);
      throw error;
    }
    this.#words = new Uint32Array(this.#counting.view.buffer, 0, COUNTING_BYTES / 4);
    this.samples = new PacketSamples(this.#ring, (mask, vectorShift) => {
      this.#words[1] = mask + vectorShift * 2 ** 16;
    });
    this.cells = new CounterArray(this.maps.cells, CELL_FIELDS);
    this.classes = new CounterArray(this.maps.classes, VECTOR_FIELDS);
  }

  /** Turns counting on or off. */
  setWatching(watching: boolean): void {
    this.#words[0] = watching ? 1 : 0;
  }

  /** Null: the vectors of the cell are not counted. */
  setVectorSlot(cell: number, slot: number | null): void {
    this.#words[VECTOR_SLOTS_AT / 4 + cell] = slot === null ? 0 : slot + 1;
  }

  /** The fast path counts vectors of drops only for these addresses, and for others with the same hash. */
  setClassified(addresses: Iterable<Cidr>): void {
    const words = new Uint32Array(LAYOUT.REPORTED_WORDS * 2);
    for (const address of addresses) {
      const hash = addressHash(address.family, addressBytes(address));
      const bit = hash >>> (32 - LAYOUT.REPORTED_BITS);
      words[bit >> 5] = ((words[bit >> 5] as number) | (1 << (bit & 31))) >>> 0;
    }
    this.#words.set(words, CLASSIFIED_AT / 4);
  }

  follow(addresses: readonly (readonly [Cidr, Watched])[]): void {
    for (const family of [4, 6] as const) {
      const own = addresses.filter(([address]) => address.family === family);
      const keys = Buffer.concat(own.map(([address]) => addressBytes(address)));
      const values = Buffer.concat(own.map(([, watched]) => watchedBytes(watched)));
      updateElements(this.maps[`watched_${family}`], keys, values, own.length);
    }
  }

  unfollow(address: Cidr): void {
    deleteElement(this.maps[`watched_${address.family}`], addressBytes(address));
  }

  setNetwork(network: Cidr, cell: number): void {
    const value = watchedBytes({ cell: 0, networkCell: cell });
    updateElement(this.maps[`around_${network.family}`], prefixKey(network), value);
  }

  removeNetwork(network: Cidr): void {
    deleteElement(this.maps[`around_${network.family}`], prefixKey(network));
  }

  /** All `struct suspect`, in words. The programs write here concurrently. */
  get suspects(): Uint32Array {
    return new Uint32Array(this.#suspects.view.buffer, 0, LAYOUT.SUSPECTS * SUSPECT_WORDS);
  }

  /** The mapped memory is no longer valid. */
  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.#counting.unmap();
    this.#suspects.unmap();
    this.#ring.close();
    Object.values(this.maps).forEach(closeDescriptor);
  }
}

function shapeOf(name: Name, shapes: Readonly<Record<string, MapShape>>): MapShape {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`the artifact has no map ${name}`);
  return shape;
}

function watchedBytes({ cell, networkCell }: Watched): Buffer {
  const value = Buffer.alloc(WATCHED_BYTES);
  value.writeUInt32LE(cell, 0);
  value.writeUInt32LE(networkCell, 4);
  return value;
}
