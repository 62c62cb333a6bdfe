import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import { sourceSets } from '@portcullis/link/messages/policy.ts';
import {
  array,
  check,
  matching,
  natural,
  object,
  type Static,
} from '@portcullis/link/messages/schema.ts';
import { parts } from './content.ts';
import { readIfThere, replaceFile } from '@portcullis/agent/durable-file.ts';
import { CHAIN_START, frame, type Frames, unframe } from './frames.ts';

const PREFIX = 'source-sets-';
const NETWORKS_PER_RECORD = 5_000;
const word = matching(/^[\x21-\x7e]{1,128}$/, 'a name');

/** The first record; `pieces` is the number of the following records. */
const head = object({ version: word, pieces: natural });
const piece = object({ name: word, networks: array((value) => value, NETWORKS_PER_RECORD) });

/** Source sets as records; a large set has several. */
function* writeSets({ version, sets }: SourceSets): Generator<Frames> {
  const pieces = Object.entries(sets).flatMap(([name, all]): Static<typeof piece>[] => {
    const cut = [...parts(all, NETWORKS_PER_RECORD)];
    return (cut.length === 0 ? [[]] : cut).map((networks) => ({ name, networks }));
  });
  let frames = frame(CHAIN_START, { version, pieces: pieces.length } satisfies Static<typeof head>);
  yield frames;
  for (const one of pieces) {
    frames = frame(frames.chain, one);
    yield frames;
  }
}

/** Returns null if the file is incomplete. */
function readSets(bytes: Buffer): SourceSets | null {
  const { records, damaged } = unframe(bytes);
  const [first, ...rest] = records;
  const begin = check(head, first);
  if (!begin.ok || damaged || rest.length !== begin.value.pieces) return null;
  const sets = new Map<string, unknown[]>();
  for (const record of rest) {
    const checked = check(piece, record);
    if (!checked.ok) return null;
    const { name, networks } = checked.value;
    const known = sets.get(name) ?? [];
    for (const network of networks) known.push(network);
    sets.set(name, known);
  }
  const { version } = begin.value;
  const checked = check(sourceSets, { version, sets: Object.fromEntries(sets) });
  return checked.ok ? checked.value : null;
}

/** A file for each version of the source sets. The version names the content, so a file is never changed. */
export class SourceSetFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(sets: SourceSets): Promise<void> {
    const texts = function* (): Generator<string> {
      for (const { text } of writeSets(sets)) yield text;
    };
    await replaceFile(this.#path(sets.version), texts());
  }

  /** Returns null if the file is incomplete. */
  read(version: string): SourceSets | null {
    const bytes = readIfThere(this.#path(version));
    const sets = bytes === null ? null : readSets(bytes);
    return sets?.version === version ? sets : null;
  }

  removeBut(versions: readonly string[]): void {
    const used = versions.map((version) => this.#path(version));
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      // Includes drafts of used versions.
      if (name.startsWith(PREFIX) && !used.some((one) => path.startsWith(one))) rmSync(path);
    }
  }

  #path(version: string): string {
    const name = createHash('sha256').update(version).digest('hex').slice(0, 20);
    return join(this.#folder, `${PREFIX}${name}.jsonl`);
  }
}
