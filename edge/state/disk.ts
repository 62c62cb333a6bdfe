import { join } from 'node:path';
import type { RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import type { Log } from '@portcullis/core/log.ts';
import { DesiredStore } from './desired-store.ts';
import { enforcedOf } from './enforced.ts';
import { KernelRecords, type KnownTable } from './kernel-record.ts';
import { type LoadedTable, TableText } from './table-text.ts';

/** A separate folder, so that our writes do not wake the watcher of the switch files. */
export function enforcedFolder(stateDir: string): string {
  return join(stateDir, 'enforced');
}

/**
 * Keeps in the state directory what an edge needs after a restart: the desired state for the agent, and the table as
 * text for a boot before the agent. Never throws; `problem` reports disk errors.
 */
export class Disk {
  readonly #log: Log;
  readonly #desired: DesiredStore;
  readonly #text: TableText;
  readonly #records: KernelRecords;
  #enforced: Desired | null = null;

  constructor(stateDir: string, log: Log) {
    this.#log = log;
    const folder = enforcedFolder(stateDir);
    this.#desired = new DesiredStore({ folder, log });
    this.#text = new TableText(folder, log);
    this.#records = new KernelRecords(join(folder, 'kernel.json'), log);
  }

  get problem(): string | null {
    return this.#desired.problem ?? this.#text.problem;
  }

  /** The initial state. `hasTable`: our table is in the kernel. See `DesiredStore.load`. */
  load(hasTable: boolean): Desired | null {
    const desired = this.#desired.load(hasTable);
    if (desired !== null) {
      this.#log.info({ generation: desired.generation }, 'has what it last enforced, from disk');
    }
    this.#enforced = desired;
    return desired;
  }

  /** The table that the kernel had and may still have; see `KernelRecords`. */
  knownTable(): KnownTable | null {
    return this.#records.read();
  }

  /** Called after an apply, with the table of the kernel if it is known. See `DesiredStore.keep`. */
  async keep(
    desired: Desired,
    refused: readonly RefusedTarget[],
    table: LoadedTable | null,
  ): Promise<void> {
    if (table !== null) this.#text.keep(table);
    this.#records.keep(table);
    this.#enforced = enforcedOf(desired, refused, this.#enforced);
    await this.#desired.keep(this.#enforced);
  }

  /** Deletes the table text, so that the next boot loads nothing. */
  removeTable(): void {
    this.#text.remove();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#desired.stop(), this.#text.stop(), this.#records.flush()]);
  }
}
