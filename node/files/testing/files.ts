import assert from 'node:assert/strict';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { FILE_RIGHTS, type FileRight } from '@portcullis/core/access/server-rights.ts';
import type {
  CallerOnServer,
  FileAnswer,
  FileAnswerOf,
  FileOperation,
  FileOperationOf,
} from '@portcullis/link/messages/files.ts';
import { createMeasureDisk } from '../../disk/measure.ts';
import type { Owner } from '../../server-folder/folder.ts';
import type { PullLimits } from '../operations/pull.ts';
import { FileService } from '../service.ts';
import { LinkServer, type LinkServerOptions } from '../streams/link-server.ts';
import { FileLinks } from '../streams/links.ts';

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
const ALL = FILE_RIGHTS;

/** The account of the server's files; the tests' own where they are not root. */
export const OWNER: Owner | null = process.getuid?.() === 0 ? { uid: 31_337, gid: 31_337 } : null;

/** The real service over a folder of the disk, and a place outside of it that nothing may touch. */
export class TestFiles {
  readonly folder: string;
  readonly outside: string;
  readonly service: FileService;
  readonly log: object[] = [];
  readonly links = new FileLinks('https://files.example');
  limitMib = 64;
  limitEntries = 0;
  denylist: readonly string[] = [];
  /** The bounds of pulls; by default no network but the public ones. */
  pulls: PullLimits = { networks: [] };
  callersAtOnce = 1_000;
  /** The rights that callers have now. */
  rightsOf: (caller: CallerOnServer) => readonly FileRight[] = () => ALL;
  /** A disk that does not answer: measurements wait for it. */
  slowDisk: Promise<unknown> = Promise.resolve();
  readonly #measured = Promise.withResolvers<void>();
  /** A sentence: nothing can be reached now. */
  away: string | null = null;
  /** The servers that are away then. */
  isAway: (uuid: string) => boolean = () => true;
  /** Measurements of the folder wait for this. */
  beforeMeasure: () => Promise<void> = async () => {};

  constructor(t: TestContext, disk = tmpdir()) {
    const root = mkdtempSync(join(disk, 'portcullis-files-'));
    this.folder = join(root, 'server');
    this.outside = join(root, 'outside');
    for (const path of [this.folder, this.outside]) mkdirSync(path);
    writeFileSync(join(this.outside, 'secret'), 'secret');
    const measure = createMeasureDisk({ entriesPerSecond: 1_000_000 });
    const none = (): void => {};
    const pulls = (): PullLimits => this.pulls;
    const callersAtOnce = (): number => this.callersAtOnce;
    const note = (line: object): void => void this.log.push(line);
    this.service = new FileService({
      find: (uuid) => {
        if (this.away !== null && this.isAway(uuid)) return this.away;
        return this.#settings;
      },
      uuids: () => [UUID],
      openFolder: async () => ({ folder: this.folder, owner: OWNER, notice: null }),
      measureServer: async (uuid) => {
        await this.beforeMeasure();
        const startedAtMs = performance.now();
        this.#measured.resolve();
        await this.slowDisk;
        const use = await measure(this.folder, AbortSignal.timeout(60_000));
        this.service.measured(uuid, use, startedAtMs);
      },
      measure,
      get pulls() {
        return pulls();
      },
      checkCallers: async (callers) => callers.map((one) => this.rightsOf(one)),
      get callersAtOnce() {
        return callersAtOnce();
      },
      route: { node: 'node-1', socketPath: null },
      links: this.links,
      log: { debug: none, info: note, warn: note, error: note },
    });
    t.after(async () => {
      await this.service.stop();
      rmSync(root, { recursive: true, force: true });
    });
    this.own(this.folder);
  }

  /** Serves links to these files on a port of this host until the test ends. */
  async serveLinks(t: TestContext, tls: LinkServerOptions['tls'] = null, host = '127.0.0.1') {
    const none = (): void => {};
    const server = new LinkServer({
      listen: { host, port: 0 },
      tls,
      links: this.links,
      files: this.service,
      checkCallers: async (callers) => callers.map((one) => this.rightsOf(one)),
      onChange: none,
      log: { debug: none, info: none, warn: none, error: none },
    });
    server.start();
    t.after(() => server.stop());
    return { server, port: await server.listening };
  }

  /** Resolves when the disk is measured for the first time. */
  get measures(): Promise<void> {
    return this.#measured.promise;
  }

  get #settings() {
    const { limitMib, limitEntries, denylist } = this;
    return { limitMib, limitEntries, denylist };
  }

  call(
    operation: FileOperation,
    rights: readonly FileRight[] = ALL,
    // A busy machine takes long for a bomb.
    withinMs = 100_000,
    { caller = 'person:1', uuid = UUID }: { readonly caller?: string; readonly uuid?: string } = {},
  ): Promise<FileAnswer | null> {
    const call = {
      kind: 'node.files',
      uuid,
      actor: 'alex',
      caller,
      rights,
      operation,
      withinMs,
    } as const;
    return this.service.run(call);
  }

  /** The answer of this kind; throws for any other one. */
  async ok<K extends FileAnswer['kind']>(
    kind: K,
    operation: FileOperation,
  ): Promise<FileAnswerOf<K>> {
    const answer = await this.call(operation);
    if (answer?.kind !== kind) throw new Error(`not ${kind}: ${JSON.stringify(answer)}`);
    return answer as FileAnswerOf<K>;
  }

  /** The code of the refusal, or the kind of the answer. */
  async code(operation: FileOperation, rights?: readonly FileRight[]): Promise<string | undefined> {
    const answer = await this.call(operation, rights);
    return answer?.kind === 'refused' ? answer.code : answer?.kind;
  }

  list(path = '', changes: Partial<FileOperationOf<'list'>> = {}) {
    return this.ok('entries', {
      kind: 'list',
      path,
      sort: 'name',
      descending: false,
      offset: 0,
      limit: 1_000,
      withContent: false,
      ...changes,
    });
  }

  async names(path = ''): Promise<string[]> {
    return (await this.list(path)).entries.map(({ name }) => name);
  }

  write(path: string, content: string, changes: Partial<FileOperationOf<'write'>> = {}) {
    return writing(path, content, changes);
  }

  /** Makes a file, and the folders on the way, as the game would. */
  put(path: string, content: string | Buffer = ''): void {
    const names = path.split('/');
    for (let depth = 1; depth < names.length; depth += 1) {
      const folder = join(this.folder, ...names.slice(0, depth));
      mkdirSync(folder, { recursive: true });
      this.own(folder);
    }
    writeFileSync(join(this.folder, path), content);
    this.own(join(this.folder, path));
  }

  own(path: string): void {
    if (OWNER !== null) chownSync(path, OWNER.uid, OWNER.gid);
  }
}

export function writing(
  path: string,
  content: string | Buffer,
  changes: Partial<FileOperationOf<'write'>> = {},
): FileOperationOf<'write'> {
  const base64 = Buffer.from(content as string).toString('base64');
  return { kind: 'write', path, content: base64, mode: null, expected: null, ...changes };
}

/** Notices any change of a folder that nothing may reach. */
export class FolderWatch {
  readonly #path: string;
  readonly #before: string;

  constructor(path: string) {
    this.#path = path;
    this.#before = stateOf(path);
  }

  assertSame(): void {
    assert.equal(stateOf(this.#path), this.#before);
  }
}

function stateOf(path: string): string {
  const names = readdirSync(path).toSorted();
  const lines = names.map((name) => {
    const { mode, uid, size } = lstatSync(join(path, name));
    return `${name} ${mode.toString(8)} ${uid} ${size} ${readFileSync(join(path, name), 'utf8')}`;
  });
  return [lstatSync(path).mode.toString(8), ...lines].join('\n');
}
