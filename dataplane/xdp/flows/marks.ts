import { randomInt } from 'node:crypto';
import {
  closeDescriptor,
  createMap,
  type Descriptor,
  mapShapeOf,
  type MapShape,
} from '../../kernel/bpf/bpf.ts';
import type { Pins } from '../devices/pins.ts';

/** Another one where hashes, times or what is marked mean something else: then nothing is taken over. */
const VERSION = 2;
const NAMES = ['flow_marks', 'host_marks'] as const;
type MarkMaps = Readonly<Record<(typeof NAMES)[number], Descriptor>>;

/**
 * Where flows are marked, and the secret that they are hashed with. An agent finds those of the one before it, so
 * that programs of both know the same flows while it takes over. Pinned as `marks-VERSION-SECRET-MAP`.
 */
export class Marks {
  readonly maps: MarkMaps;
  readonly seed: number;
  /** They are those of an earlier agent. */
  readonly inherited: boolean;
  readonly #pins: Pins;

  private constructor(pins: Pins, maps: MarkMaps, seed: number, inherited: boolean) {
    this.#pins = pins;
    this.maps = maps;
    this.seed = seed;
    this.inherited = inherited;
  }

  /** Throws `SystemError`. */
  static open(pins: Pins, shapes: Readonly<Record<string, MapShape>>): Marks {
    for (const name of pins.names().filter((one) => one.startsWith('marks-'))) {
      const seed = seedIn(name);
      const maps = seed === null ? null : adopt(pins, seed, shapes);
      if (seed !== null && maps !== null) return new Marks(pins, maps, seed, true);
      pins.remove(name);
    }
    const seed = randomInt(2 ** 32);
    const made = {
      flow_marks: create('flow_marks', shapes),
      host_marks: create('host_marks', shapes),
    };
    return new Marks(pins, made, seed, false);
  }

  /** For the next agent, where they can outlive this one. */
  keep(): void {
    const there = new Set(this.#pins.names());
    for (const map of NAMES) {
      const name = pinName(this.seed, map);
      if (!there.has(name)) this.#pins.put(name, this.maps[map]);
    }
  }

  close(): void {
    Object.values(this.maps).forEach(closeDescriptor);
  }
}

function pinName(seed: number, map: keyof MarkMaps): string {
  return `marks-${VERSION}-${seed.toString(16).padStart(8, '0')}-${map}`;
}

function seedIn(name: string): number | null {
  const [, version, seed] = /^marks-(\d+)-([0-9a-f]{8})-/.exec(name) ?? [];
  return Number(version) === VERSION && seed !== undefined ? Number.parseInt(seed, 16) : null;
}

/** Null: not all of them are there as they must be. */
function adopt(
  pins: Pins,
  seed: number,
  shapes: Readonly<Record<string, MapShape>>,
): MarkMaps | null {
  const fits = (map: keyof MarkMaps) =>
    pins.adopt(pinName(seed, map), (one) => isShaped(mapShapeOf(one), shapes[map]));
  const [flows, hosts] = [fits('flow_marks'), fits('host_marks')];
  if (flows !== null && hosts !== null) return { flow_marks: flows, host_marks: hosts };
  for (const one of [flows, hosts]) if (one !== null) closeDescriptor(one);
  return null;
}

function isShaped(shape: ReturnType<typeof mapShapeOf>, wanted: MapShape | undefined): boolean {
  const fields = ['type', 'keySize', 'valueSize', 'maxEntries'] as const;
  return fields.every((field) => shape[field] === wanted?.[field]);
}

function create(name: keyof MarkMaps, shapes: Readonly<Record<string, MapShape>>) {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`the artifact has no map ${name}`);
  return createMap(name, shape);
}
