import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '@portcullis/core/log.ts';
import { readIfThere } from '@portcullis/agent/durable-file.ts';
import {
  array,
  check,
  matching,
  object,
  prose,
  type Static,
} from '@portcullis/link/messages/schema.ts';
import type { Connection } from '@portcullis/dataplane/kernel/netlink/conntrack.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { addressText } from '@portcullis/dataplane/nftables/elements/dump.ts';
import type {
  Learned,
  LearnedReader,
} from '@portcullis/dataplane/nftables/elements/learned-reader.ts';
import { isThisKernel, kernelIdentity } from './boot.ts';
import { enforcedFolder } from './disk.ts';
import { CHAIN_START, frame, unframe } from './frames.ts';
import { DENIED, elementOf } from '@portcullis/dataplane/connections/denied-memory.ts';

const FILE = 'denied-flows.jsonl';
/** Two sets for each of two families, with 65,536 elements each. */
const MAX_FLOWS = 4 * 65_536;

const schema = object({
  boot: prose(128),
  namespace: prose(128),
  flows: array(matching(/^[\x20-\x7e]{1,160}$/, 'a denied connection'), MAX_FLOWS),
});

export interface DeniedFlowFileOptions {
  readonly stateDir: string;
  readonly log: Log;
  readonly open: () => LearnedReader;
  readonly eachConnection: (visit: (connection: Connection) => void) => Promise<unknown>;
}

/**
 * The table holds the denied flows (`nftables/table/denied-flows.ts`), and `edge off` or another program removes it. If
 * the protected host keeps sending on such a flow, its conntrack entry looks as if the host had opened it, and the flow
 * would pass as a reply once the edge is on again. So the flows are saved before the table is removed and copied as they
 * are denied, and the next table contains those that conntrack still has in its first transaction.
 */
export class DeniedFlowFile {
  readonly #options: DeniedFlowFileOptions;
  readonly #path: string;
  /** The texts of what this process denied, oldest first. */
  readonly #copied = new Set<string>();

  constructor(options: DeniedFlowFileOptions) {
    this.#options = options;
    this.#path = join(enforcedFolder(options.stateDir), FILE);
  }

  /** Saves the flows of the table before its removal; does nothing if there is no table. */
  async save(): Promise<void> {
    const reader = this.#options.open();
    const flows: string[] = [];
    try {
      for (const state of DENIED) {
        for (const family of [4, 6] as const) {
          const found = await reader.read(state, family);
          if (found === null) return;
          for (const one of found) flows.push(textOf(one));
        }
      }
    } finally {
      reader.close();
    }
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    // The agent and `edge off` may both write.
    const draft = `${this.#path}.${process.pid}`;
    const written: Static<typeof schema> = { ...kernelIdentity(), flows };
    writeFileSync(draft, frame(CHAIN_START, written).text, { mode: 0o600 });
    renameSync(draft, this.#path);
  }

  /** Copies flows that are about to be denied, in case another program deletes the table. */
  copy(elements: readonly Learned[]): void {
    for (const one of elements) this.#copied.add(textOf(one));
    for (const oldest of this.#copied) {
      if (this.#copied.size <= MAX_FLOWS) break;
      this.#copied.delete(oldest);
    }
  }

  /** The flows for sets that the next write creates: of the present table, saved and copied. A failure stops no write. */
  async recall(): Promise<Learned[]> {
    try {
      await this.save();
      return await this.load();
    } catch (error) {
      this.#options.log.warn({ error }, 'denied flows could not be read; they may pass as replies');
      return [];
    }
  }

  /** Loads the flows for a new table: saved and copied ones. */
  async load(): Promise<Learned[]> {
    const denied = new Set([...this.#loadSaved(), ...this.#copied]);
    if (denied.size === 0) return [];
    const found: Learned[] = [];
    await this.#options.eachConnection((connection) => {
      const element = elementOf(answersTo(connection));
      if (element !== null && denied.has(textOf(element))) found.push(element);
    });
    return found;
  }

  #loadSaved(): readonly string[] {
    const { records } = unframe(readIfThere(this.#path) ?? Buffer.of());
    const checked = check(schema, records[0]);
    return checked.ok && isThisKernel(checked.value) ? checked.value.flows : [];
  }
}

/** A driver whose `remove` saves the denied flows first. A failure does not prevent the removal. */
export function savingDeniedFlows(
  driver: Driver,
  file: DeniedFlowFile,
  failed: (error: unknown) => void,
): Driver {
  return {
    ...driver,
    remove: async () => {
      await file.save().catch(failed);
      await driver.remove();
    },
  };
}

/** The incoming direction of a connection that the protected side seems to have opened. */
function answersTo({ reply, icmp, secondsLeft }: Connection): Parameters<typeof elementOf>[0] {
  const { source, destination, ...rest } = reply;
  const ends = { source: addressText(source), destination: addressText(destination) };
  return { flow: { ...rest, ...ends, icmp }, secondsLeft };
}

function textOf({ set, fields }: Pick<Learned, 'set' | 'fields'>): string {
  return `${set} ${fields.join(' ')}`;
}
