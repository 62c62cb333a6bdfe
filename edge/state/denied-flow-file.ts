import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
import { DENIED, type Learned } from '@portcullis/dataplane/nftables/elements/learned-elements.ts';
import type { LearnedReader } from '@portcullis/dataplane/nftables/elements/learned-reader.ts';
import { isThisKernel, kernelIdentity } from './boot.ts';
import { enforcedFolder } from './disk.ts';
import { CHAIN_START, frame, unframe } from './frames.ts';
import { elementOf } from '@portcullis/dataplane/connections/denied-memory.ts';

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
  readonly open: () => LearnedReader;
  readonly eachConnection: (visit: (connection: Connection) => void) => Promise<unknown>;
}

/**
 * The table holds the denied flows (`nftables/table/denied-flows.ts`), and `edge off` removes it. If the protected host
 * keeps sending on such a flow, its conntrack entry looks as if the host had opened it, and the flow would pass as a
 * reply once the edge is on again. So the flows are saved before the table is removed, and the next table contains
 * those that conntrack still has in its first transaction.
 */
export class DeniedFlowFile {
  readonly #options: DeniedFlowFileOptions;
  readonly #path: string;

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

  /** Loads the flows for a new table. */
  async load(): Promise<Learned[]> {
    const { records } = unframe(readIfThere(this.#path) ?? Buffer.of());
    const checked = check(schema, records[0]);
    if (!checked.ok || checked.value.flows.length === 0 || !isThisKernel(checked.value)) return [];
    const denied = new Set(checked.value.flows);
    const found: Learned[] = [];
    await this.#options.eachConnection((connection) => {
      const element = elementOf(answersTo(connection));
      if (element !== null && denied.has(textOf(element))) found.push(element);
    });
    return found;
  }

  /** Deletes the file once a table has the flows. Never throws: flows that end later are not loaded anyway. */
  delete(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // The directory is read-only.
    }
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
