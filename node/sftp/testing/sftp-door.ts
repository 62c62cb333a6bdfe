import { FILE_RIGHTS, type FileRight } from '@portcullis/core/access/server-rights.ts';
import type ssh2 from 'ssh2';
import type { TestFiles } from '../../files/testing/files.ts';
import type { Outcome, TestedDoor } from '../../files/testing/hostile-cases.ts';
import type { TestDoor } from './door.ts';

/** SSH_FX_PERMISSION_DENIED of the protocol. */
const PERMISSION_DENIED = 3;

type Failure = (Error & { readonly code?: number }) | null | undefined;

/** The door of SFTP, by a client over a connection. */
export class SftpTestedDoor implements TestedDoor {
  readonly files: TestFiles;
  readonly #host: TestDoor;
  readonly #sftp: ssh2.SFTPWrapper;

  private constructor(host: TestDoor, sftp: ssh2.SFTPWrapper) {
    this.files = host.files;
    this.#host = host;
    this.#sftp = sftp;
  }

  static async open(host: TestDoor): Promise<SftpTestedDoor> {
    await host.start();
    host.rights = FILE_RIGHTS;
    return new SftpTestedDoor(host, await host.sftp());
  }

  async allow(rights: readonly FileRight[]): Promise<void> {
    this.#host.rights = rights;
    await this.#host.door.check();
  }

  content(path: string): Promise<string | null> {
    return new Promise((resolve) =>
      this.#sftp.readFile(path, (error, bytes) => resolve(error ? null : bytes.toString())),
    );
  }

  read(path: string): Promise<Outcome> {
    return this.#outcome((done) => this.#sftp.readFile(path, done));
  }

  write(path: string, content: string | Buffer): Promise<Outcome> {
    return this.#outcome((done) => this.#sftp.writeFile(path, content, done));
  }

  move(from: string, to: string): Promise<Outcome> {
    return this.#outcome((done) => this.#sftp.rename(from, to, done));
  }

  async remove(path: string): Promise<Outcome> {
    const removed = await this.#outcome((done) => this.#sftp.unlink(path, done));
    return removed === 'failed' ? this.#outcome((done) => this.#sftp.rmdir(path, done)) : removed;
  }

  makeFolder(path: string): Promise<Outcome> {
    return this.#outcome((done) => this.#sftp.mkdir(path, done));
  }

  setMode(path: string, mode: number): Promise<Outcome> {
    return this.#outcome((done) => this.#sftp.chmod(path, mode, done));
  }

  list(path: string): Promise<Outcome> {
    return this.#outcome((done) => this.#sftp.readdir(path, done));
  }

  #outcome(call: (done: (error: Failure) => void) => void): Promise<Outcome> {
    return new Promise((resolve) =>
      call((error) => {
        if (!error) resolve('done');
        else resolve(error.code === PERMISSION_DENIED ? 'denied' : 'failed');
      }),
    );
  }
}
