import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
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
import { detachEgressFilter } from '../../kernel/netlink/tc.ts';
import { listDevices, readDevice } from './device.ts';

const BPFFS_MAGIC = 0xcafe4a11;

/** Where an agent's pins are: a folder of its own, for a host may have several. `PORTCULLIS_BPFFS`: another bpffs. */
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

/** For who takes us off this host without knowing how the agent was started. Throws what the file system says. */
export function recordPins(stateDir: string, folder: string): void {
  const path = join(stateDir, 'enforced', RECORD);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${folder}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** Where the agents of this state directory may have pinned something. */
export function pinsFolders(stateDir: string, env: NodeJS.ProcessEnv): string[] {
  const [recorded = ''] = (readIfPresent(join(stateDir, 'enforced', RECORD)) ?? '').split('\n');
  const folders = [pinsFolder(stateDir, env), pinsFolder(stateDir, {})];
  // Only ever a folder of that name: this is about to be emptied.
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

/** Takes everything that an agent pinned off its devices, whether the agent runs or not. */
export function detachPinned(folder: string): void {
  if (!isBpffs(folder)) return;
  for (const name of readdirSync(folder)) {
    const descriptor = getPinned(join(folder, name));
    if (descriptor !== null) {
      if (/^(?:xdp|egress)-/.test(name)) ignoreSystemError(() => detachLink(descriptor));
      closeDescriptor(descriptor);
    }
    // The agent, if it runs, does the same at the same time.
    unlinkIfPresent(join(folder, name));
  }
  for (const name of listDevices()) {
    const ifindex = readDevice(name)?.ifindex;
    if (ifindex !== undefined) detachEgressFilter(ifindex);
  }
}

/**
 * Names in a bpffs: what has one outlives the agent. Without one (no bpffs, no rights to it) everything works
 * for as long as the process lives.
 */
export class Pins {
  readonly #folder: string | null;

  private constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** `folder` need not exist, but a bpffs must be mounted around it. */
  static open(folder: string): Pins {
    // Asked before anything is made: where sysfs has no bpffs on it, a recursive mkdir of Node never returns.
    if (!isBpffs(dirname(folder))) return new Pins(null);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return new Pins(folder);
    } catch {
      return new Pins(null);
    }
  }

  names(): string[] {
    return this.#folder === null ? [] : readdirSync(this.#folder);
  }

  /** Null also where this bpffs became read-only: the kernel gives nothing out of one. */
  get(name: string): Descriptor | null {
    if (this.#folder === null) return null;
    try {
      return getPinned(join(this.#folder, name));
    } catch (error) {
      if (error instanceof SystemError && error.code === 'EROFS') return null;
      throw error;
    }
  }

  /** In place of what had the name. Whether it is there now, and outlives us. */
  put(name: string, descriptor: Descriptor): boolean {
    if (this.#folder === null || !this.remove(name)) return false;
    try {
      pin(join(this.#folder, name), descriptor);
      return true;
    } catch (error) {
      if (error instanceof SystemError) return false;
      throw error;
    }
  }

  /** False: it stays, because this bpffs may not be changed (any more). Whoever finds it finds a dead link. */
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

  /** What is pinned under a name, where it is of use; else the name is gone. */
  adopt(name: string, usable: (descriptor: Descriptor) => boolean): Descriptor | null {
    const descriptor = this.get(name);
    if (descriptor === null) return null;
    if (usable(descriptor)) return descriptor;
    closeDescriptor(descriptor);
    this.remove(name);
    return null;
  }
}

/** A device that went away took its link with it. */
export function ignoreSystemError(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof SystemError)) throw error;
  }
}

function unlinkIfPresent(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
