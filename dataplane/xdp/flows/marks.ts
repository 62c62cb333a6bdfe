import { randomInt } from 'node:crypto';
import {
  closeDescriptor,
  createMap,
  type Descriptor,
  mapShapeOf,
  type MapShape,
} from '../../kernel/bpf/bpf.ts';
import type { Pins } from '../devices/pins.ts';

/** Change it when hashes, times or marks change their meaning. Maps of another version are not taken over. */
const VERSION = 2;
const NAMES = ['flow_marks', 'host_marks'] as const;
type MarkMaps = Readonly<Record<(typeof NAMES)[number], Descriptor>>;

/**
 * The maps of flow marks and the secret of their hash. An agent takes them over from the previous one, so that the
 * programs of both know the same flows during the takeover. Pinned as `marks-VERSION-SECRET-MAP`.
 */
export class Marks {
  readonly maps: MarkMaps;
  readonly seed: number;
  /** Taken over from an earlier agent. */
  readonly isInherited: boolean;
  readonly #pins: Pins;

  private constructor(pins: Pins, maps: MarkMaps, seed: number, inherited: boolean) {
    this.#pins = pins;
    this.maps = maps;
    this.seed = seed;
    this.isInherited = inherited;
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

  /** Pins the maps for the next agent, if there is a bpffs. */
  pin(): void {
    const pinned = new Set(this.#pins.names());
    for (const map of NAMES) {
      const name = pinName(this.seed, map);
      if (!pinned.has(name)) this.#pins.put(name, this.maps[map]);
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

/** Returns null if a map is missing or has another shape. */
function adopt(
  pins: Pins,
  seed: number,
  shapes: Readonly<Record<string, MapShape>>,
): MarkMaps | null {
  const adoptMap = (map: keyof MarkMaps) =>
    pins.adopt(pinName(seed, map), (one) => hasShape(mapShapeOf(one), shapes[map]));
  const [flows, hosts] = [adoptMap('flow_marks'), adoptMap('host_marks')];
  if (flows !== null && hosts !== null) return { flow_marks: flows, host_marks: hosts };
  for (const one of [flows, hosts]) if (one !== null) closeDescriptor(one);
  return null;
}

function hasShape(shape: ReturnType<typeof mapShapeOf>, wanted: MapShape | undefined): boolean {
  const fields = ['type', 'keySize', 'valueSize', 'maxEntries'] as const;
  return fields.every((field) => shape[field] === wanted?.[field]);
}

function create(name: keyof MarkMaps, shapes: Readonly<Record<string, MapShape>>) {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`the artifact has no map ${name}`);
  return createMap(name, shape);
}
