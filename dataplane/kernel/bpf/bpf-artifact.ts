import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MAP_FLAGS, MAP_TYPES, type MapShape, type MapType, type ProgramType } from './bpf.ts';
import { Elf } from './elf.ts';

/**
 * A compiled BPF object as JSON, made by `npm run build:bpf`. A host needs nothing else to load it: no compiler, no
 * BTF, no libbpf.
 */
export interface BpfArtifact {
  /** The digest of the C sources. */
  readonly digest: string;
  /** The compiler's version: another one may generate other instructions. */
  readonly compiler: string;
  readonly license: string;
  readonly maps: Readonly<Record<string, MapShape>>;
  readonly programs: Readonly<Record<string, ArtifactProgram>>;
}
export interface ArtifactProgram {
  readonly type: ProgramType;
  /** Eight bytes each, as base64. */
  readonly instructions: string;
  /** The instructions that load a map. */
  readonly maps: readonly (readonly [instruction: number, map: string])[];
  /** The instructions that load an address inside the single value of a map, with its offset in bytes. */
  readonly values: readonly (readonly [instruction: number, map: string, offset: number])[];
}

const MAP_DEFINITION_BYTES = 20;
const R_BPF_64_64 = 1;
const MAP_FD = 1;
const MAP_VALUE = 2;
/** Variables in such a section are stored in the map named after the prefix. */
const VALUE_SECTION = 'value:';
const INSTRUCTION_BYTES = 8;
const SECTION_TYPES: Readonly<Record<string, ProgramType>> = {
  xdp: 'xdp',
  'xdp/greeting': 'xdp',
  'xdp/forward': 'xdp',
  'xdp/answer': 'xdp',
  'tcx/egress': 'schedCls',
  'tcx/ingress': 'schedCls',
  'tcx/ingress/greeting': 'schedCls',
  'tcx/ingress/forward': 'schedCls',
  'tcx/ingress/answer': 'schedCls',
};

export function readArtifact(path: string): BpfArtifact {
  return JSON.parse(readFileSync(path, 'utf8')) as BpfArtifact;
}

/** Converts an object file. Throws if the loader does not support it. */
export function artifactOf(object: Buffer, compiler: string, digest: string): BpfArtifact {
  const elf = new Elf(object);
  const license = elf.section('license');
  if (license === null) throw new Error('a BPF object names its license');
  const maps = Object.fromEntries(
    elf.symbols
      .filter(({ section }) => section === 'maps')
      .map(({ name, value }) => [name, mapShape(elf, name, value)]),
  );
  const programs = Object.fromEntries(
    elf.sections().flatMap(({ name, bytes }) => {
      const type = SECTION_TYPES[name];
      return type === undefined ? [] : [[name, programOf(elf, name, type, bytes)] as const];
    }),
  );
  return {
    digest,
    compiler,
    license: license.toString('ascii', 0, license.indexOf(0)),
    maps,
    programs,
  };
}

/** Inserts the map descriptors into the instructions. Throws if a map is missing. */
export function relocated(
  program: ArtifactProgram,
  maps: Readonly<Record<string, number>>,
): Buffer {
  const instructions = Buffer.from(program.instructions, 'base64');
  const refer = (at: number, name: string, kind: number): void => {
    const map = maps[name];
    if (map === undefined) throw new Error(`no map ${name}`);
    const offset = at * INSTRUCTION_BYTES;
    instructions[offset + 1] = ((instructions[offset + 1] ?? 0) & 0x0f) | (kind << 4);
    instructions.writeUInt32LE(map, offset + 4);
  };
  for (const [at, name] of program.maps) refer(at, name, MAP_FD);
  for (const [at, name, offset] of program.values) {
    refer(at, name, MAP_VALUE);
    instructions.writeUInt32LE(offset, at * INSTRUCTION_BYTES + 12);
  }
  return instructions;
}

export function digestOf(sources: readonly string[]): string {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(source).update('\0');
  return hash.digest('hex');
}

function mapShape(elf: Elf, name: string, offset: number): MapShape {
  const bytes = elf.section('maps')?.subarray(offset, offset + MAP_DEFINITION_BYTES);
  if (bytes?.length !== MAP_DEFINITION_BYTES) throw new Error(`map ${name} has no definition`);
  const number = bytes.readUInt32LE(0);
  const type = (Object.keys(MAP_TYPES) as MapType[]).find((one) => MAP_TYPES[one] === number);
  if (type === undefined) throw new Error(`map ${name} is of a type that is not known here`);
  const flags = bytes.readUInt32LE(16);
  return {
    type,
    keySize: bytes.readUInt32LE(4),
    valueSize: bytes.readUInt32LE(8),
    maxEntries: bytes.readUInt32LE(12),
    noPreallocation: (flags & MAP_FLAGS.noPreallocation) !== 0,
    mappable: (flags & MAP_FLAGS.mappable) !== 0,
  };
}

function programOf(elf: Elf, section: string, type: ProgramType, bytes: Buffer): ArtifactProgram {
  const maps: [number, string][] = [];
  const values: [number, string, number][] = [];
  for (const { offset, type: kind, symbol } of elf.relocationsOf(section)) {
    const at = offset / INSTRUCTION_BYTES;
    const place = symbol.section ?? '';
    if (kind === R_BPF_64_64 && place === 'maps') {
      maps.push([at, symbol.name]);
    } else if (kind === R_BPF_64_64 && place.startsWith(VALUE_SECTION)) {
      const within = symbol.value + bytes.readUInt32LE(offset + 4);
      values.push([at, place.slice(VALUE_SECTION.length), within]);
    } else {
      throw new Error(`${section} refers to ${symbol.name}, which is no map: inline it`);
    }
  }
  return { type, instructions: bytes.toString('base64'), maps, values };
}
