import type { FileHandle } from 'node:fs/promises';
import {
  type FilePath,
  formatPath,
  nameFromBytes,
  parsePath,
} from '@portcullis/core/game-servers/files/path.ts';
import type { FileOperationOf, FileRefusalCode } from '@portcullis/link/messages/files.ts';
import type { OpenFile } from '../../server-folder/folder.ts';
import type { Gate, Place } from '../gate.ts';
import type { RunningJob } from '../jobs.ts';
import { present, publishFile } from '../operations/content.ts';
import { pathOf } from '../operations/list.ts';
import { FileRefusal, notFound } from '../refusal.ts';
import { withDraft, writeDraft } from '../work.ts';
import type { ArchiveEntry } from './entry.ts';
import { readArchive } from './read.ts';
import { QuotaSink } from './sink.ts';

/** Files and folders of one archive. */
const MAX_ENTRIES = 1_000_000;
/** All that one archive may become, also where the disk is not limited. */
const MAX_BYTES = 256 * 1024 ** 3;
/** From this size on an archive that becomes so many times its size is a bomb. */
const RATIO_FROM_BYTES = 64 * 1024 * 1024;
const MAX_RATIO = 250;
const FILE_MODE = 0o644;
/** Refusals that concern one entry alone. */
const LEFT_OUT: ReadonlySet<FileRefusalCode> = new Set(['denied', 'impossible', 'exists']);

/** Unpacks an archive into a folder, as a job. Returns the id of the job. */
export async function unpack(gate: Gate, operation: FileOperationOf<'unpack'>): Promise<string> {
  gate.require('file.archive');
  gate.require('file.create');
  const source = await gate.place(pathOf(operation.path), 'file.read-content');
  const target = pathOf(operation.to);
  gate.requireAllowed(target);
  const open = (): Promise<OpenFile> =>
    gate.about(source.path, async () => {
      const file = await source.folder.openFile(source.name, gate.files.owner);
      if (file === null) throw notFound(operation.path);
      return file;
    });
  // A job that waits for its turn holds no descriptor of the file.
  await (await open()).handle.close();
  const rights = ['file.archive', 'file.read-content', 'file.create'] as const;
  return gate.begin({ kind: 'unpack', path: operation.path, rights }, async (job) => {
    const file = await open();
    try {
      await unpackAll(gate, { source, file, target }, job);
    } finally {
      await file.handle.close();
    }
  });
}

interface Order {
  readonly source: Place;
  readonly file: OpenFile;
  readonly target: FilePath;
}

async function unpackAll(
  gate: Gate,
  { source, file, target }: Order,
  job: RunningJob,
): Promise<void> {
  try {
    const unpacker = new Unpacker(gate, target, Number(file.stat.size), job);
    const name = source.path.at(-1) ?? '';
    for await (const entry of readArchive(file, name, job)) {
      job.signal.throwIfAborted();
      await unpacker.take(entry);
    }
  } catch (error) {
    if (error instanceof FileRefusal || job.signal.aborted) throw error;
    const why = error instanceof Error ? error.message : 'unknown error';
    const detail = `${formatPath(source.path)} is no archive that can be read: ${why}`;
    throw new FileRefusal('impossible', detail.slice(0, 500), { cause: error });
  }
}

/** Gives the entries of an archive their places, each a whole file or none. */
class Unpacker {
  readonly #gate: Gate;
  readonly #target: FilePath;
  readonly #sourceBytes: number;
  readonly #job: RunningJob;
  #entries = 0;
  #bytes = 0;

  constructor(gate: Gate, target: FilePath, sourceBytes: number, job: RunningJob) {
    this.#gate = gate;
    this.#target = target;
    this.#sourceBytes = sourceBytes;
    this.#job = job;
  }

  async take(entry: ArchiveEntry): Promise<void> {
    this.#entries += 1;
    if (this.#entries > MAX_ENTRIES)
      throw new FileRefusal('too_large', `The archive has more than ${MAX_ENTRIES} entries.`);
    const path = this.#pathOf(entry.name);
    if (path.length === this.#target.length) return;
    if (entry.type === 'other') return this.#leaveOut(path, 'it is a link or a device');
    try {
      this.#gate.requireAllowed(path);
      await (entry.type === 'folder' ? this.#makeFolder(path) : this.#writeFile(path, entry));
    } catch (error) {
      if (error instanceof FileRefusal && LEFT_OUT.has(error.code))
        return this.#leaveOut(path, error.message);
      throw error;
    }
    this.#job.add({ entries: 1 });
  }

  /** A name that leads out of the folder ends the job: nobody made such an archive by mistake. */
  #pathOf(name: Buffer): FilePath {
    const parts = nameFromSlashes(name).filter((part) => part !== '' && part !== '.');
    const path = parsePath([...this.#target, ...parts].join('/'));
    if (path.ok) return path.value;
    const shown = nameFromBytes(name).slice(0, 200);
    throw new FileRefusal('impossible', `The archive has a name that ${path.reason}: ${shown}.`);
  }

  async #makeFolder(path: FilePath): Promise<void> {
    const granted = await this.#gate.files.quota.take({ bytes: 0, entries: 1 });
    let made = 0;
    try {
      await this.#gate.at(path, { right: 'file.create', make: true }, async (place) => {
        if (await place.folder.has(place.name)) return;
        await place.folder.make(place.name, this.#gate.files.owner);
        made = 1;
      });
    } finally {
      granted.close({ bytes: 0, entries: made });
    }
  }

  async #writeFile(path: FilePath, { mode, content }: ArchiveEntry): Promise<void> {
    const gate = this.#gate;
    await gate.at(path, { right: 'file.create', make: true }, (place) =>
      withDraft(gate, async (draft) => {
        const before = await present(place);
        if (before !== null) gate.require('file.update');
        // The owner can always read and write what it unpacked.
        const wanted = (mode ?? FILE_MODE) | 0o600;
        await writeDraft(gate, draft, wanted, (handle) => this.#fill(handle, content));
        await publishFile(gate, draft, place);
      }),
    );
  }

  async #fill(handle: FileHandle, content: ArchiveEntry['content']): Promise<void> {
    const sink = new QuotaSink(handle, this.#gate.files.quota, this.#job);
    try {
      await sink.begin();
      // Read from at once, because it may fail at once.
      for await (const chunk of await content()) {
        this.#bytes += chunk.length;
        this.#requireNoBomb();
        await sink.write(chunk);
      }
    } finally {
      sink.close();
    }
  }

  #requireNoBomb(): void {
    if (this.#bytes > MAX_BYTES)
      throw new FileRefusal('too_large', 'The archive becomes too large.');
    if (this.#bytes < RATIO_FROM_BYTES || this.#bytes < this.#sourceBytes * MAX_RATIO) return;
    const detail = `The archive becomes more than ${MAX_RATIO} times as large as it is, so it is taken for a bomb.`;
    throw new FileRefusal('too_large', detail);
  }

  #leaveOut(path: FilePath, why: string): void {
    this.#job.note(`${formatPath(path)} was left out: ${why.replace(/\.$/, '')}.`);
  }
}

/** The parts of a name, each as a path of ours spells it. */
function nameFromSlashes(name: Buffer): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = name.indexOf(0x2f); at !== -1; at = name.indexOf(0x2f, from)) {
    parts.push(nameFromBytes(name.subarray(from, at)));
    from = at + 1;
  }
  return [...parts, nameFromBytes(name.subarray(from))];
}
