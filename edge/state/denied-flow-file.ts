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
import { DENIED, type Learnt } from '@portcullis/dataplane/nftables/elements/kept-state.ts';
import type { LearntReader } from '@portcullis/dataplane/nftables/elements/learnt-reader.ts';
import { isHere, kernelPlace } from './boot.ts';
import { enforcedFolder } from './disk.ts';
import { CHAIN_START, frame, unframe } from './frames.ts';
import { elementOf } from '@portcullis/dataplane/connections/denied-memory.ts';

const FILE = 'denied-flows.jsonl';
/** Two sets of two families, 65,536 each. */
const MOST = 4 * 65_536;

const schema = object({
  boot: prose(128),
  namespace: prose(128),
  flows: array(matching(/^[\x20-\x7e]{1,160}$/, 'a denied connection'), MOST),
});

export interface SetAsideOptions {
  readonly stateDir: string;
  readonly open: () => LearntReader;
  readonly eachConnection: (visit: (connection: Connection) => void) => Promise<unknown>;
}

/**
 * Denied connections are remembered in our table (`nftables/table/denied-flows.ts`), and `edge off` takes that away.
 * One that the protected host goes on sending by has an entry in connection tracking that looks as if that host had
 * begun it, and would pass as a reply once the edge is on again. So they are written down before the table goes, by
 * whoever removes it, and are in the next one from its first moment on where connection tracking knows them still.
 */
export class SetAside {
  readonly #options: SetAsideOptions;
  readonly #path: string;

  constructor(options: SetAsideOptions) {
    this.#options = options;
    this.#path = join(enforcedFolder(options.stateDir), FILE);
  }

  /** Of our table, which is about to be removed. Where there is none, somebody else has done this. Throws what fails. */
  async keep(): Promise<void> {
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
    // The agent and a person may be at it at once.
    const draft = `${this.#path}.${process.pid}`;
    const written: Static<typeof schema> = { ...kernelPlace(), flows };
    writeFileSync(draft, frame(CHAIN_START, written).text, { mode: 0o600 });
    renameSync(draft, this.#path);
  }

  /** For a table that is about to be written where there is none. Throws what fails. */
  async takeBack(): Promise<Learnt[]> {
    const { records } = unframe(readIfThere(this.#path) ?? Buffer.of());
    const checked = check(schema, records[0]);
    if (!checked.ok || checked.value.flows.length === 0 || !isHere(checked.value)) return [];
    const denied = new Set(checked.value.flows);
    const back: Learnt[] = [];
    await this.#options.eachConnection((connection) => {
      const element = elementOf(answersTo(connection));
      if (element !== null && denied.has(textOf(element))) back.push(element);
    });
    return back;
  }

  /** A table remembers them again. Never throws: what is there still says nothing of connections that end meanwhile. */
  forget(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // A directory that nothing can be removed from.
    }
  }
}

/** `remove` leaves behind what the next table has to know. Nothing keeps anybody from removing ours. */
export function setAsideBeforeRemoval(
  driver: Driver,
  aside: SetAside,
  failed: (error: unknown) => void,
): Driver {
  return {
    ...driver,
    remove: async () => {
      await aside.keep().catch(failed);
      await driver.remove();
    },
  };
}

/** What comes in by a connection that the protected side is taken to have begun, as a client sends it. */
function answersTo({ reply, icmp, secondsLeft }: Connection): Parameters<typeof elementOf>[0] {
  const { source, destination, ...rest } = reply;
  const ends = { source: addressText(source), destination: addressText(destination) };
  return { flow: { ...rest, ...ends, icmp }, secondsLeft };
}

function textOf({ set, fields }: Pick<Learnt, 'set' | 'fields'>): string {
  return `${set} ${fields.join(' ')}`;
}
