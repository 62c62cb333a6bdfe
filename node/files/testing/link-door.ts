import { FILE_RIGHTS, type FileRight } from '@portcullis/core/access/server-rights.ts';
import { parsePath } from '@portcullis/core/game-servers/files/path.ts';
import type { FileOperation } from '@portcullis/link/messages/files.ts';
import { type TestFiles, writing } from './files.ts';
import type { Outcome, TestedDoor } from './hostile-cases.ts';

/** The door of the link: what control asks of the node for HTTP. */
export class LinkDoor implements TestedDoor {
  readonly files: TestFiles;
  #rights: readonly FileRight[] = FILE_RIGHTS;

  constructor(files: TestFiles) {
    this.files = files;
  }

  async allow(rights: readonly FileRight[]): Promise<void> {
    this.#rights = rights;
  }

  async content(path: string): Promise<string | null> {
    const answer = await this.files.call({ kind: 'read', path }, this.#rights);
    return answer?.kind === 'content' ? Buffer.from(answer.content, 'base64').toString() : null;
  }

  read(path: string): Promise<Outcome> {
    return this.#outcome({ kind: 'read', path });
  }

  write(path: string, content: string | Buffer): Promise<Outcome> {
    return this.#outcome(writing(path, content));
  }

  move(from: string, to: string): Promise<Outcome> {
    return this.#outcome({ kind: 'move', moves: [{ from, to }], replace: true });
  }

  remove(path: string): Promise<Outcome> {
    return this.#outcome({ kind: 'delete', paths: [path], forGood: false });
  }

  makeFolder(path: string): Promise<Outcome> {
    return this.#outcome({ kind: 'makeFolder', path });
  }

  setMode(path: string, mode: number): Promise<Outcome> {
    return this.#outcome({ kind: 'setMode', files: [{ path, mode }] });
  }

  list(path: string): Promise<Outcome> {
    const page = { sort: 'name', descending: false, offset: 0, limit: 10 } as const;
    return this.#outcome({ kind: 'list', path, ...page, withContent: false });
  }

  async #outcome(operation: FileOperation): Promise<Outcome> {
    // The schema of the link refuses what is no path, before anything else.
    if (pathsOf(operation).some((path) => !parsePath(path).ok)) return 'no path';
    const answer = await this.files.call(operation, this.#rights);
    if (answer === null) return 'late';
    const code =
      answer.kind === 'refused'
        ? answer.code
        : answer.kind === 'done'
          ? answer.failed[0]?.code
          : undefined;
    if (code === undefined) return 'done';
    return code === 'forbidden' ? 'denied' : code;
  }
}

function pathsOf(operation: FileOperation): readonly string[] {
  if (operation.kind === 'move') return operation.moves.flatMap(({ from, to }) => [from, to]);
  if (operation.kind === 'delete') return operation.paths;
  if (operation.kind === 'setMode') return operation.files.map(({ path }) => path);
  return 'path' in operation ? [operation.path] : [];
}
