import type { FileRefusalCode } from '@portcullis/link/messages/files.ts';
import ssh2 from 'ssh2';
import { answerLimits, insideOf } from './limits-extension.ts';
import type { SftpEntry, SftpOperation, SftpResult } from './messages.ts';
import { ReadQueue } from './reads.ts';

const { STATUS_CODE: STATUS } = ssh2.utils.sftp;
/** The longest read that the library takes of OpenSSH. */
const MAX_READ = 255 * 1024;
/** The longest packet that the library reads, and what is around the bytes of a write. */
const MAX_PACKET = 256 * 1024;
const LIMITS = {
  packetBytes: MAX_PACKET,
  readBytes: MAX_READ,
  writeBytes: MAX_PACKET - 1024,
} as const;
/** Bytes of answers that wait for the window of the client: they are sent at once when it opens. */
const MAX_ANSWERS = 256 * 1024;

const STATUS_OF: Readonly<Record<FileRefusalCode, number>> = {
  not_found: STATUS.NO_SUCH_FILE,
  exists: STATUS.FAILURE,
  changed: STATUS.FAILURE,
  forbidden: STATUS.PERMISSION_DENIED,
  denied: STATUS.PERMISSION_DENIED,
  too_large: STATUS.FAILURE,
  quota: STATUS.FAILURE,
  busy: STATUS.FAILURE,
  unavailable: STATUS.FAILURE,
  impossible: STATUS.FAILURE,
  range: STATUS.FAILURE,
  lost: STATUS.FAILURE,
};

export interface ChannelOptions {
  readonly maxWaiting: number;
  /** Whether the client reads what it gets. */
  readonly hasRoom: () => boolean;
  /** Files that may be open, as announced to the client. */
  readonly handles: number;
  /** Called before an answer is sent, to send those of one moment together. */
  readonly answering: () => void;
  readonly perform: (operation: SftpOperation) => Promise<SftpResult>;
  readonly takeHandle: () => boolean;
  readonly giveHandle: () => void;
  /** Ends the connection. */
  readonly end: () => void;
}

/** SFTP version 3 on one channel: requests become operations, and their results answers. */
export class SftpChannel {
  readonly #sftp: ssh2.SFTPWrapper;
  readonly #options: ChannelOptions;
  readonly #reads: ReadQueue;
  /** Set in the library, in place of its own, to learn that the window opened. */
  #onWindow: (() => void) | undefined;
  /** Ends when all requests so far are answered. */
  #answered: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isEnding = false;

  constructor(sftp: ssh2.SFTPWrapper, options: ChannelOptions) {
    this.#sftp = sftp;
    this.#options = options;
    this.#reads = new ReadQueue({
      hasRoom: () => options.hasRoom() && this.#waitingBytes() < MAX_ANSWERS,
      perform: (read) => options.perform({ kind: 'read', ...read }),
    });
  }

  /** Goes on with reads, when the client has taken answers. */
  resume(): void {
    this.#reads.resume();
  }

  /** Begins to answer. */
  serve(): void {
    const { end } = this.#options;
    this.#onFiles();
    this.#onOpenFiles();
    this.#onFolders();
    this.#onPaths();
    this.#onExtended();
    this.#sftp.on('error', () => end());
    // The library would leave the channel open, and clients wait for its end.
    this.#sftp.on('end', () => {
      this.#isEnding = true;
      this.#endIfIdle();
    });
  }

  #onFiles(): void {
    this.#sftp.on('OPEN', (id, path, flags) => {
      this.#open(id, { kind: 'open', path: resolvePath(path), flags });
    });
    this.#sftp.on('READ', (id, handle, offset, length) => {
      const read = { handle: numberOf(handle), offset, length: Math.min(length, MAX_READ) };
      this.#take(id, () => this.#reads.read(read));
    });
    this.#sftp.on('WRITE', (id, handle, offset, data) => {
      const operation = { kind: 'write', handle: numberOf(handle), offset, data } as const;
      this.#take(id, () => this.#performOn(operation));
    });
  }

  #onOpenFiles(): void {
    this.#sftp.on('FSTAT', (id, handle) =>
      this.#take(id, () => this.#performOn({ kind: 'statOpen', handle: numberOf(handle) })),
    );
    this.#sftp.on('FSETSTAT', (id, handle, { mode = null, size = null }: Attributes) => {
      const operation = { kind: 'setOpen', handle: numberOf(handle), mode, size } as const;
      this.#take(id, () => this.#performOn(operation));
    });
    this.#sftp.on('CLOSE', (id, handle) =>
      this.#take(id, async () => {
        const result = await this.#performOn({ kind: 'close', handle: numberOf(handle) });
        // One that is not known was never taken.
        const isKnown = result.kind !== 'refused' || result.code !== 'not_found';
        if (isKnown) this.#options.giveHandle();
        return result;
      }),
    );
  }

  #onFolders(): void {
    this.#sftp.on('OPENDIR', (id, path) =>
      this.#open(id, { kind: 'openFolder', path: resolvePath(path) }),
    );
    this.#sftp.on('READDIR', (id, handle) =>
      this.#take(id, () => this.#options.perform({ kind: 'readFolder', handle: numberOf(handle) })),
    );
    this.#sftp.on('MKDIR', (id, path) =>
      this.#take(id, () => this.#options.perform({ kind: 'makeFolder', path: resolvePath(path) })),
    );
    this.#sftp.on('RMDIR', (id, path) =>
      this.#take(id, () =>
        this.#options.perform({ kind: 'removeFolder', path: resolvePath(path) }),
      ),
    );
  }

  #onPaths(): void {
    const stat = (id: number, path: string): void =>
      this.#take(id, () => this.#options.perform({ kind: 'stat', path: resolvePath(path) }));
    // No link is followed, so both are of the link itself.
    this.#sftp.on('STAT', stat);
    this.#sftp.on('LSTAT', stat);
    this.#sftp.on('SETSTAT', (id, path, { mode = null, size = null }: Attributes) =>
      this.#take(id, async () => {
        if (size !== null) return refused('impossible', 'Open the file to set its size.');
        if (mode === null) return { kind: 'done' };
        const operation = { kind: 'setMode', path: resolvePath(path), mode } as const;
        return this.#options.perform(operation);
      }),
    );
    this.#sftp.on('REMOVE', (id, path) =>
      this.#take(id, () => this.#options.perform({ kind: 'remove', path: resolvePath(path) })),
    );
    this.#sftp.on('RENAME', (id, from, to) => {
      const operation = { kind: 'rename', from: resolvePath(from), to: resolvePath(to) } as const;
      this.#take(id, () => this.#options.perform(operation));
    });
    this.#sftp.on('REALPATH', (id, path) => {
      const whole = `/${resolvePath(path)}`;
      const attrs = NO_ATTRIBUTES;
      this.#answerBy(() => this.#sftp.name(id, [{ filename: whole, longname: whole, attrs }]));
    });
    const refuse = (id: number): void =>
      this.#answerBy(() => this.#sftp.status(id, STATUS.OP_UNSUPPORTED));
    this.#sftp.on('READLINK', refuse);
    this.#sftp.on('SYMLINK', refuse);
  }

  #onExtended(): void {
    const { handles } = this.#options;
    this.#sftp.on('EXTENDED', (id, name) => {
      const request = { id, name };
      this.#answerBy(() => {
        if (!answerLimits(insideOf(this.#sftp), request, { ...LIMITS, handles }))
          this.#sftp.status(id, STATUS.OP_UNSUPPORTED);
      });
    });
  }

  /** Work on an open file, which does not overtake the reads of it. */
  #performOn(operation: SftpOperation & { readonly handle: number }): Promise<SftpResult> {
    return this.#reads.follow(operation.handle, () => this.#options.perform(operation));
  }

  #open(id: number, operation: SftpOperation): void {
    if (!this.#options.takeHandle()) {
      const reason = 'Too many files are open.';
      this.#answerBy(() => this.#sftp.status(id, STATUS.FAILURE, reason));
      return;
    }
    this.#take(id, async () => {
      const result = await this.#options.perform(operation);
      if (result.kind !== 'handle') this.#options.giveHandle();
      else if (result.start !== undefined) this.#reads.opened(result.handle, result.start);
      return result;
    });
  }

  #take(id: number, work: () => Promise<SftpResult>): void {
    this.#waiting += 1;
    if (this.#waiting > this.#options.maxWaiting) return this.#options.end();
    const before = this.#answered;
    // In the order of the requests: OpenSSH's scp cuts a file off where an answer overtook another.
    const answered = work().then(async (result) => {
      await before;
      this.#answer(id, result);
    });
    this.#answered = answered.catch(() => undefined);
    void answered
      .catch(() => this.#options.end())
      .finally(() => {
        this.#waiting -= 1;
        this.#endIfIdle();
      });
  }

  #endIfIdle(): void {
    if (!this.#isEnding || this.#waiting > 0) return;
    const { _protocol: protocol, outgoing } = insideOf(this.#sftp);
    // Without it scp fails after all is done.
    if (outgoing.state === 'open' || outgoing.state === 'eof') protocol.exitStatus(outgoing.id, 0);
    this.#sftp.end();
  }

  #answer(id: number, result: SftpResult): void {
    this.#answerBy(() => this.#send(id, result));
  }

  /** Every answer may fill the window of the client, whose opening must be seen then. */
  #answerBy(send: () => void): void {
    this.#options.answering();
    send();
    this.#watchWindow();
  }

  /** The library sends answers that waited when the window of the client opens, and says nothing of it. */
  #watchWindow(): void {
    const inside = insideOf(this.#sftp);
    const sendWaiting = inside._chunkcb;
    if (sendWaiting === undefined || sendWaiting === this.#onWindow) return;
    this.#onWindow = () => {
      this.#options.answering();
      sendWaiting.call(this.#sftp);
      this.#watchWindow();
      this.#reads.resume();
    };
    inside._chunkcb = this.#onWindow;
  }

  /** Bytes of answers that wait for the window of the client. */
  #waitingBytes(): number {
    return insideOf(this.#sftp)._buffer.reduce((sum, { length }) => sum + length, 0);
  }

  #send(id: number, result: SftpResult): void {
    const sftp = this.#sftp;
    switch (result.kind) {
      case 'handle': {
        const handle = Buffer.alloc(4);
        handle.writeUInt32BE(result.handle);
        sftp.handle(id, handle);
        return;
      }
      case 'data':
        if (result.data === null) sftp.status(id, STATUS.EOF);
        else sftp.data(id, asBuffer(result.data));
        return;
      case 'entry':
        sftp.attrs(id, attributesOf(result.entry));
        return;
      case 'entries':
        if (result.entries === null) sftp.status(id, STATUS.EOF);
        else sftp.name(id, result.entries.map(nameOf));
        return;
      case 'refused':
        sftp.status(id, STATUS_OF[result.code], result.reason);
        return;
      case 'done':
      default:
        sftp.status(id, STATUS.OK);
    }
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

interface Attributes {
  readonly mode?: number | null;
  readonly size?: number | null;
}

/** Nothing is known; the type of the library wants all. */
const NO_ATTRIBUTES = {} as ssh2.Attributes;
const NO_HANDLE = 0;
const TYPE_BITS = { file: 0o100000, folder: 0o040000, link: 0o120000, other: 0o010000 } as const;
const TYPE_LETTERS = { file: '-', folder: 'd', link: 'l', other: 'p' } as const;
const HALF_YEAR_MS = 182 * 86_400_000;

function refused(code: FileRefusalCode, reason: string): SftpResult {
  return { kind: 'refused', code, reason };
}

function numberOf(handle: Buffer): number {
  return handle.length === 4 ? handle.readUInt32BE() : NO_HANDLE;
}

/** Resolves `.` and `..` by the names alone, because no link is followed; nothing leads above the folder of the server. */
function resolvePath(path: string): string {
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return names.join('/');
}

function attributesOf({ type, size, mode, modifiedAtMs }: SftpEntry): ssh2.Attributes {
  const seconds = Math.min(Math.floor(modifiedAtMs / 1_000), 2 ** 32 - 1);
  return { mode: TYPE_BITS[type] | mode, uid: 0, gid: 0, size, atime: seconds, mtime: seconds };
}

/** A line as `ls -l` writes it, which clients show. */
function nameOf(entry: SftpEntry): ssh2.FileEntry {
  const { name, type, mode, size, modifiedAtMs } = entry;
  const letters = 'rwxrwxrwx'
    .split('')
    .map((letter, at) => ((mode >> (8 - at)) & 1 ? letter : '-'));
  const date = new Date(modifiedAtMs);
  const [, dayOfMonth = '', monthName = '', year = '', clock = ''] = date.toUTCString().split(' ');
  const isRecent = Math.abs(Date.now() - modifiedAtMs) < HALF_YEAR_MS;
  const when = `${monthName} ${dayOfMonth} ${isRecent ? clock.slice(0, 5) : year.padStart(5)}`;
  const longname = `${TYPE_LETTERS[type]}${letters.join('')} 1 server server ${String(size).padStart(12)} ${when} ${name}`;
  return { filename: name, longname, attrs: attributesOf(entry) };
}
