import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import {
  closeDescriptor,
  type Descriptor,
  detachLink,
  getPinned,
  pin,
} from '../../kernel/bpf/bpf.ts';
import { SystemError } from '../../kernel/native.ts';
import { detachFilter } from '../../kernel/netlink/tc.ts';
import { listDevices, readDevice } from './device.ts';

const BPFFS_MAGIC = 0xcafe4a11;

/**
 * The pin folder of an agent. It depends on the state directory, because a host may run several agents.
 * `PORTCULLIS_BPFFS` selects another bpffs.
 */
export function pinsFolder(stateDir: string, env: NodeJS.ProcessEnv): string {
  const name = createHash('sha256').update(resolve(stateDir)).digest('hex').slice(0, 12);
  return join(bpffsRoot(env), `portcullis-${name}`);
}

export function bpffsRoot(env: NodeJS.ProcessEnv): string {
  return env['PORTCULLIS_BPFFS'] ?? '/sys/fs/bpf';
}

export function isBpffs(folder: string): boolean {
  try {
    return statfsSync(folder).type === BPFFS_MAGIC;
  } catch {
    return false;
  }
}

const RECORD = 'pins';

/**
 * Records the pin folder for `detachPinned`, which may run without the agent's environment. Throws file system
 * errors.
 */
export function recordPins(stateDir: string, folder: string): void {
  const path = join(stateDir, 'enforced', RECORD);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${folder}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** All folders where agents of this state directory may have pinned something. */
export function pinsFolders(stateDir: string, env: NodeJS.ProcessEnv): string[] {
  const [recorded = ''] = (readIfPresent(join(stateDir, 'enforced', RECORD)) ?? '').split('\n');
  const folders = [pinsFolder(stateDir, env), pinsFolder(stateDir, {})];
  // Accepts only a folder with this name, because the folder will be emptied.
  if (basename(recorded) === basename(pinsFolder(stateDir, env))) folders.push(recorded);
  return [...new Set(folders)];
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Detaches everything that an agent pinned, whether the agent runs or not. */
export function detachPinned(folder: string): void {
  if (!isBpffs(folder)) return;
  for (const name of readdirSync(folder)) {
    const descriptor = getPinned(join(folder, name));
    if (descriptor !== null) {
      if (/^(?:xdp|egress)-/.test(name)) succeeds(() => detachLink(descriptor));
      closeDescriptor(descriptor);
    }
    // A running agent may do the same concurrently.
    unlinkIfPresent(join(folder, name));
  }
  removeIfEmpty(folder);
  for (const name of listDevices()) {
    const ifindex = readDevice(name)?.ifindex;
    if (ifindex === undefined) continue;
    detachFilter(ifindex, 'egress');
    detachFilter(ifindex, 'ingress');
  }
}

/**
 * Pins objects in a bpffs so that they outlive the agent. Without access to a bpffs nothing is pinned, and the
 * objects end with the process.
 */
export class Pins {
  readonly #folder: string | null;

  private constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** `folder` is made with the first pin, and removed with the last (`detachPinned`); its parent must be in a bpffs. */
  static open(folder: string): Pins {
    return new Pins(isBpffs(dirname(folder)) ? folder : null);
  }

  names(): string[] {
    return this.#folder === null || !isBpffs(this.#folder) ? [] : readdirSync(this.#folder);
  }

  /** Also returns null if the bpffs became read-only: the kernel then opens no pins. */
  get(name: string): Descriptor | null {
    if (this.#folder === null) return null;
    try {
      return getPinned(join(this.#folder, name));
    } catch (error) {
      if (error instanceof SystemError && error.code === 'EROFS') return null;
      throw error;
    }
  }

  /** Replaces the pin of this name. Returns whether the object is pinned now. */
  put(name: string, descriptor: Descriptor): boolean {
    if (this.#folder === null || !this.remove(name)) return false;
    try {
      makeFolder(this.#folder);
      pin(join(this.#folder, name), descriptor);
      return true;
    } catch (error) {
      if (error instanceof SystemError || (error instanceof Error && 'code' in error)) return false;
      throw error;
    }
  }

  /** Returns false if the bpffs is read-only. The next agent then finds a dead link. */
  remove(name: string): boolean {
    if (this.#folder === null) return true;
    try {
      unlinkIfPresent(join(this.#folder, name));
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error) return false;
      throw error;
    }
  }

  /** Opens a pin if it is usable, and otherwise removes it. */
  adopt(name: string, usable: (descriptor: Descriptor) => boolean): Descriptor | null {
    const descriptor = this.get(name);
    if (descriptor === null) return null;
    if (usable(descriptor)) return descriptor;
    closeDescriptor(descriptor);
    this.remove(name);
    return null;
  }
}

/** Returns false if the kernel refuses, as for a device that is gone. */
export function succeeds(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (error instanceof SystemError) return false;
    throw error;
  }
}

/** Not recursive: where no bpffs is mounted on sysfs, that never returns. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** A running agent may have pinned something meanwhile, or another process removed it. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

function unlinkIfPresent(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
