import { closeSync } from 'node:fs';
import type { KoffiFunc } from 'koffi';
import { addressOf, errno, libc, NativeUnavailable, SystemError } from '../native.ts';

/**
 * bpf(2), as far as this project uses it. Descriptors are plain numbers, which the caller closes. Structures follow
 * `union bpf_attr` of linux/bpf.h. Every call may throw `SystemError`.
 */
export type Descriptor = number;

export const MAP_TYPES = {
  hash: 1,
  array: 2,
  programArray: 3,
  percpuArray: 6,
  lpmTrie: 11,
  ringbuf: 27,
} as const;
export type MapType = keyof typeof MAP_TYPES;

export interface MapShape {
  readonly type: MapType;
  /** Bytes. */
  readonly keySize: number;
  readonly valueSize: number;
  readonly maxEntries: number;
  /** Elements are allocated when they are added, so memory grows with use. */
  readonly noPreallocation: boolean;
  /** The map can be mapped into memory (`mapMemory`). */
  readonly mappable: boolean;
}

export const PROGRAM_TYPES = { schedCls: 3, xdp: 6 } as const;
export type ProgramType = keyof typeof PROGRAM_TYPES;

export const ATTACH_TYPES = { xdp: 37, tcxIngress: 46, tcxEgress: 47 } as const;
export type AttachType = keyof typeof ATTACH_TYPES;

/** Flags of an XDP link: in the driver, or in the generic receive path. */
export const XDP_MODES = { native: 1 << 2, generic: 1 << 1 } as const;
export type XdpMode = keyof typeof XDP_MODES;

const COMMANDS = {
  mapCreate: 0,
  mapLookup: 1,
  mapUpdate: 2,
  mapDelete: 3,
  mapNextKey: 4,
  programLoad: 5,
  pin: 6,
  get: 7,
  programTestRun: 10,
  info: 15,
  programQuery: 16,
  mapLookupBatch: 24,
  mapUpdateBatch: 26,
  linkCreate: 28,
  linkUpdate: 29,
  linkDetach: 34,
} as const;

export const ATTR_BYTES = 152;
export const NAME_BYTES = 15;
export const MAP_FLAGS = { noPreallocation: 1, mappable: 1 << 10 } as const;
const SYSCALL_NUMBERS: Readonly<Partial<Record<NodeJS.Architecture, number>>> = {
  x64: 321,
  arm64: 280,
};

type Syscall = KoffiFunc<(number: number, command: number, attr: Buffer, size: number) => number>;
let syscall: Syscall | null = null;

function opened(): { readonly syscall: Syscall; readonly number: number } {
  const number = SYSCALL_NUMBERS[process.arch];
  if (number === undefined) throw new NativeUnavailable(`no bpf(2) known on ${process.arch}`);
  syscall ??= libc().func(
    'long syscall(long number, long command, void *attr, unsigned int size)',
  ) as Syscall;
  return { syscall, number };
}

export function call(command: keyof typeof COMMANDS, attr: Buffer): number {
  const bpf = opened();
  const result = bpf.syscall(bpf.number, COMMANDS[command], attr, attr.length);
  if (result < 0) throw new SystemError(`bpf ${command}`, errno());
  return result;
}

/** Runs on another thread. Returns null if it failed, because errno is known only there. */
export async function callOffThread(
  command: keyof typeof COMMANDS,
  attr: Buffer,
): Promise<number | null> {
  const bpf = opened();
  const result = await new Promise<number>((resolve, reject) => {
    bpf.syscall.async(bpf.number, COMMANDS[command], attr, attr.length, (error, value) => {
      if (error instanceof Error) reject(error);
      else resolve(value);
    });
  });
  return result < 0 ? null : result;
}

export function createMap(name: string, shape: MapShape): Descriptor {
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeUInt32LE(MAP_TYPES[shape.type], 0);
  attr.writeUInt32LE(shape.keySize, 4);
  attr.writeUInt32LE(shape.valueSize, 8);
  attr.writeUInt32LE(shape.maxEntries, 12);
  attr.writeUInt32LE(
    (shape.noPreallocation ? MAP_FLAGS.noPreallocation : 0) |
      (shape.mappable ? MAP_FLAGS.mappable : 0),
    16,
  );
  attr.write(name.slice(0, NAME_BYTES), 28, 'ascii');
  return call('mapCreate', attr);
}

export function updateElement(map: Descriptor, key: Buffer, value: Buffer): void {
  call('mapUpdate', elementAttr(map, key, value));
}

/** Returns false if it was absent. */
export function deleteElement(map: Descriptor, key: Buffer): boolean {
  return isFound(() => call('mapDelete', elementAttr(map, key, null)));
}

/**
 * Fills `value`; of a per-CPU map, with eight-byte aligned values of every possible CPU. Returns false if it is
 * absent.
 */
export function lookupElement(map: Descriptor, key: Buffer, value: Buffer): boolean {
  return isFound(() => call('mapLookup', elementAttr(map, key, value)));
}

/** Writes the key after `key` (null: the first) into `next`. Returns false at the end. */
export function nextKey(map: Descriptor, key: Buffer | null, next: Buffer): boolean {
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeUInt32LE(map, 0);
  if (key !== null) attr.writeBigUInt64LE(addressOf(key), 8);
  attr.writeBigUInt64LE(addressOf(next), 16);
  return isFound(() => call('mapNextKey', attr));
}

/** Writes many elements in one call, from concatenated keys and values. Throws at the first failure. */
export function updateElements(map: Descriptor, keys: Buffer, values: Buffer, count: number): void {
  if (count === 0) return;
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeBigUInt64LE(addressOf(keys), 16);
  attr.writeBigUInt64LE(addressOf(values), 24);
  attr.writeUInt32LE(count, 32);
  attr.writeUInt32LE(map, 36);
  call('mapUpdateBatch', attr);
}

/**
 * Reads elements of an array from `first` on as concatenated values (of a per-CPU array: of every possible CPU), into
 * reusable buffers.
 */
export function readElements(
  map: Descriptor,
  first: number,
  { keys, values }: { readonly keys: Buffer; readonly values: Buffer },
  count: number,
): void {
  if (count === 0) return;
  const before = Buffer.alloc(4);
  const next = Buffer.alloc(4);
  if (first > 0) before.writeUInt32LE(first - 1, 0);
  const attr = Buffer.alloc(ATTR_BYTES);
  keepAlive(attr, keys, values, before, next);
  if (first > 0) attr.writeBigUInt64LE(addressOf(before), 0);
  attr.writeBigUInt64LE(addressOf(next), 8);
  attr.writeBigUInt64LE(addressOf(keys), 16);
  attr.writeBigUInt64LE(addressOf(values), 24);
  attr.writeUInt32LE(count, 32);
  attr.writeUInt32LE(map, 36);
  // Returns ENOENT with the last elements.
  isFound(() => call('mapLookupBatch', attr));
}

/** `mode`: only for an XDP link. */
export function createLink(
  program: Descriptor,
  ifindex: number,
  attach: AttachType,
  mode: XdpMode | null,
): Descriptor {
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeUInt32LE(program, 0);
  attr.writeUInt32LE(ifindex, 4);
  attr.writeUInt32LE(ATTACH_TYPES[attach], 8);
  attr.writeUInt32LE(mode === null ? 0 : XDP_MODES[mode], 12);
  return call('linkCreate', attr);
}

/** Atomic: each packet sees the old program or the new one. */
export function updateLink(link: Descriptor, program: Descriptor): void {
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeUInt32LE(link, 0);
  attr.writeUInt32LE(program, 4);
  call('linkUpdate', attr);
}

export function detachLink(link: Descriptor): void {
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeUInt32LE(link, 0);
  call('linkDetach', attr);
}

/** The device of a link; 0 if it is gone or the link was detached. */
export function linkDevice(link: Descriptor): number {
  const info = infoOf(link, 64);
  return info.readUInt32LE(16);
}

/** The number of programs at a hook of a device. */
export function countPrograms(ifindex: number, attach: AttachType): number {
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeUInt32LE(ifindex, 0);
  attr.writeUInt32LE(ATTACH_TYPES[attach], 4);
  call('programQuery', attr);
  return attr.readUInt32LE(24);
}

/** Pins a map, program or link in a bpffs, so that it outlives the process. */
export function pin(path: string, descriptor: Descriptor): void {
  const name = pathBuffer(path);
  const attr = Buffer.alloc(ATTR_BYTES);
  keepAlive(attr, name);
  attr.writeBigUInt64LE(addressOf(name), 0);
  attr.writeUInt32LE(descriptor, 8);
  call('pin', attr);
}

/** Returns null if nothing is pinned there. */
export function getPinned(path: string): Descriptor | null {
  const name = pathBuffer(path);
  const attr = Buffer.alloc(ATTR_BYTES);
  keepAlive(attr, name);
  attr.writeBigUInt64LE(addressOf(name), 0);
  try {
    return call('get', attr);
  } catch (error) {
    if (error instanceof SystemError && error.code === 'ENOENT') return null;
    throw error;
  }
}

export interface TestRun {
  readonly program: Descriptor;
  readonly packet: Buffer;
  readonly repeat: number;
  /** The device that the packet enters by. */
  readonly ingress?: number;
  /** The device that the packet entered by, for a program at tc egress. */
  readonly entered?: number;
  /** XDP only: the program's actions take effect, from that device on. */
  readonly live?: { readonly batch: number };
  /** `native` is XDP, and the default. */
  readonly hook?: 'native' | 'tc';
  /** Gets the packet as the program leaves it. At least as long as that. */
  readonly result?: Buffer;
}

export interface TestResult {
  /** The return value of the program; 0 for live packets. */
  readonly returned: number;
  /** Mean nanoseconds per run as measured by the kernel, without preemption. */
  readonly ns: number;
  /** The length of the packet in `result`. */
  readonly length: number;
}

/** Runs a program on a packet. */
export function testRun(run: TestRun): TestResult {
  const { program, packet, repeat, ingress, entered, live, hook, result } = run;
  const attr = Buffer.alloc(ATTR_BYTES);
  const context =
    hook === 'tc' ? bufferContext(ingress ?? 0, entered) : xdpContext(packet, ingress ?? 0);
  keepAlive(attr, packet, context, ...(result === undefined ? [] : [result]));
  attr.writeUInt32LE(program, 0);
  attr.writeUInt32LE(packet.length, 8);
  attr.writeBigUInt64LE(addressOf(packet), 16);
  attr.writeUInt32LE(repeat, 32);
  if (ingress !== undefined) {
    attr.writeUInt32LE(context.length, 40);
    attr.writeBigUInt64LE(addressOf(context), 48);
  }
  if (live !== undefined) {
    attr.writeUInt32LE(TEST_LIVE_FRAMES, 64);
    attr.writeUInt32LE(live.batch, 72);
  }
  if (result !== undefined) {
    attr.writeUInt32LE(result.length, 12);
    attr.writeBigUInt64LE(addressOf(result), 24);
  }
  call('programTestRun', attr);
  return {
    returned: attr.readUInt32LE(4),
    ns: attr.readUInt32LE(36),
    length: attr.readUInt32LE(12),
  };
}

/** struct xdp_md: data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex */
function xdpContext(packet: Buffer, ingress: number): Buffer {
  const context = Buffer.alloc(24);
  context.writeUInt32LE(packet.length, 4);
  context.writeUInt32LE(ingress, 12);
  return context;
}

/** struct __sk_buff, up to `ifindex`. */
function bufferContext(ingress: number, entered = 0): Buffer {
  const context = Buffer.alloc(44);
  context.writeUInt32LE(entered, 36);
  context.writeUInt32LE(ingress, 40);
  return context;
}

const TEST_LIVE_FRAMES = 1 << 1;

/** The properties of a map that the kernel reports. */
export function mapShapeOf(map: Descriptor): Omit<MapShape, 'noPreallocation' | 'mappable'> {
  const info = infoOf(map, 80);
  const number = info.readUInt32LE(0);
  const type = (Object.keys(MAP_TYPES) as MapType[]).find((one) => MAP_TYPES[one] === number);
  if (type === undefined) throw new Error(`a map of type ${number}, which is not known here`);
  return {
    type,
    keySize: info.readUInt32LE(8),
    valueSize: info.readUInt32LE(12),
    maxEntries: info.readUInt32LE(16),
  };
}

function infoOf(descriptor: Descriptor, bytes: number): Buffer {
  const info = Buffer.alloc(bytes);
  const attr = Buffer.alloc(ATTR_BYTES);
  keepAlive(attr, info);
  attr.writeUInt32LE(descriptor, 0);
  attr.writeUInt32LE(info.length, 4);
  attr.writeBigUInt64LE(addressOf(info), 8);
  call('info', attr);
  return info;
}

export function closeDescriptor(descriptor: Descriptor): void {
  closeSync(descriptor);
}

function elementAttr(map: Descriptor, key: Buffer, value: Buffer | null): Buffer {
  const attr = Buffer.alloc(ATTR_BYTES);
  attr.writeUInt32LE(map, 0);
  attr.writeBigUInt64LE(addressOf(key), 8);
  if (value !== null) attr.writeBigUInt64LE(addressOf(value), 16);
  return attr;
}

function isFound(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (error instanceof SystemError && error.code === 'ENOENT') return false;
    throw error;
  }
}

function pathBuffer(path: string): Buffer {
  return Buffer.from(`${path}\0`);
}

/** The structure holds only addresses, so the buffers must live as long as it does. */
const referencedBuffers = new WeakMap<Buffer, readonly Buffer[]>();
export function keepAlive(attr: Buffer, ...buffers: readonly Buffer[]): void {
  referencedBuffers.set(attr, buffers);
}
