import { type Descriptor, readElements } from './bpf.ts';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const KEY_BYTES = 4;
const FIELD_BYTES = 8;
const HIGH = 2 ** 32;

/** A per-CPU array of 64-bit counters. Buffers are reused, because it is read several times a second. */
export class CounterArray {
  readonly #map: Descriptor;
  readonly #fields: number;
  #capacity = 0;
  #keys = Buffer.alloc(0);
  #values = Buffer.alloc(0);
  #words = new Uint32Array(0);
  #sums = new Float64Array(0);

  /** `fields`: the counters in a value. */
  constructor(map: Descriptor, fields: number) {
    this.#map = map;
    this.#fields = fields;
  }

  /** Sums over all processors of `count` values from `first` on. Valid until the next call. */
  read(first: number, count: number): Float64Array {
    this.#allocate(count);
    readElements(this.#map, first, { keys: this.#keys, values: this.#values }, count);
    const fields = this.#fields;
    const cpus = possibleCpus();
    const words = this.#words;
    const sums = this.#sums.subarray(0, count * fields);
    let word = 0;
    for (let value = 0; value < count; value++) {
      const at = value * fields;
      for (let field = 0; field < fields; field++, word += 2) {
        sums[at + field] = (words[word] as number) + (words[word + 1] as number) * HIGH;
      }
      for (let cpu = 1; cpu < cpus; cpu++) {
        for (let field = 0; field < fields; field++, word += 2) {
          const low = words[word] as number;
          const high = words[word + 1] as number;
          sums[at + field] = (sums[at + field] as number) + low + high * HIGH;
        }
      }
    }
    return sums;
  }

  #allocate(count: number): void {
    if (count <= this.#capacity) return;
    this.#capacity = count;
    this.#keys = Buffer.alloc(count * KEY_BYTES);
    const bytes = count * this.#fields * FIELD_BYTES * possibleCpus();
    const memory = new ArrayBuffer(bytes);
    this.#values = Buffer.from(memory);
    this.#words = new Uint32Array(memory);
    this.#sums = new Float64Array(count * this.#fields);
  }
}

let known: number | null = null;

/** Possible processors of this host, which is the number of values in each element of a per-CPU map. */
export function possibleCpus(): number {
  known ??= countCpus();
  return known;
}

function countCpus(): number {
  try {
    const last = /(\d+)\s*$/.exec(readFileSync('/sys/devices/system/cpu/possible', 'utf8'))?.[1];
    return Number(last) + 1;
  } catch {
    return availableParallelism();
  }
}
