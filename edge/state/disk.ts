import { join } from 'node:path';
import type { Policy, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import type { Log } from '@portcullis/core/log.ts';
import { DesiredStore } from './desired-store.ts';
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

  /** The stamp of the kernel's table may be another, and nothing else. */
  follow(table: LoadedTable): void {
    this.#records.follow(table);
  }

  /** Deletes the table text, so that the next boot loads nothing. */
  removeTable(): void {
    this.#text.remove();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#desired.stop(), this.#text.stop(), this.#records.flush()]);
  }
}

/**
 * The state of the kernel after an apply of `desired`. Refused targets have the policies of `before`, their last
 * accepted ones. A restart begins with this state, so that it has a policy for them.
 */
function enforcedOf(
  desired: Desired,
  refused: readonly RefusedTarget[],
  before: Desired | null,
): Desired {
  if (refused.length === 0) return desired;
  const policies = new Map<string, Policy>(desired.policies);
  const behind = new Map(desired.behind);
  for (const { target, goodGeneration } of refused) {
    const good = goodGeneration === 0 ? undefined : before?.policies.get(target);
    if (good === undefined) {
      policies.delete(target);
      behind.delete(target);
    } else {
      policies.set(target, good);
      behind.set(target, goodGeneration);
    }
  }
  return { ...desired, policies, behind };
}
