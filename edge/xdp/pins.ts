import { mkdirSync, readdirSync, statfsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { closeDescriptor, type Descriptor, getPinned, pin } from '../kernel/bpf.ts';

const BPFFS_MAGIC = 0xcafe4a11;

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
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return new Pins(statfsSync(folder).type === BPFFS_MAGIC ? folder : null);
    } catch {
      return new Pins(null);
    }
  }

  get persistent(): boolean {
    return this.#folder !== null;
  }

  names(): string[] {
    return this.#folder === null ? [] : readdirSync(this.#folder);
  }

  get(name: string): Descriptor | null {
    return this.#folder === null ? null : getPinned(join(this.#folder, name));
  }

  /** In place of what had the name. */
  put(name: string, descriptor: Descriptor): void {
    if (this.#folder === null) return;
    this.remove(name);
    pin(join(this.#folder, name), descriptor);
  }

  remove(name: string): void {
    if (this.#folder === null) return;
    try {
      unlinkSync(join(this.#folder, name));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
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
