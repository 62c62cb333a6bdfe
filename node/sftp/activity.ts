import { randomUUID } from 'node:crypto';
import { RefusedByControl } from '@portcullis/agent/request.ts';
import { formatPath, type FilePath, parsePath } from '@portcullis/core/game-servers/files/path.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { parseRequest } from '@portcullis/link/messages/messages.ts';
import {
  MAX_SFTP_LINES,
  type SftpLine,
  type SftpSessionRef,
} from '@portcullis/link/messages/sftp.ts';

/** The time within which the same again is the same line. */
const LINE_MS = 60_000;
const TICK_MS = 1_000;
/** Folders of one server with lines of their own; what is done in further ones is a line of the whole server. */
const MAX_OF_SERVER = 20;
/** Lines that wait. More are counted and left out: a person has to come from many addresses for that. */
const MAX_LINES = 2_000;
/** A node that stops waits this long for control. */
const LAST_MS = 2_000;

/** An operation of a session that changed something, or was refused. */
export interface Done {
  readonly action: SftpLine['action'];
  readonly path: string;
  /** The new path of what was moved. */
  readonly to?: string;
  readonly refused: SftpLine['refused'];
}

/** The person that did it, and its address. */
export interface Doer {
  readonly session: SftpSessionRef;
  readonly source: string;
}

interface Line {
  line: Omit<SftpLine, 'times'>;
  times: number;
  dueAtMs: number;
}

export interface SftpActivityOptions {
  readonly send: (batch: string, lines: readonly SftpLine[]) => Promise<unknown>;
  readonly log: Log;
  /** For tests. */
  readonly lineMs?: number;
}

/**
 * Reports to control what people do by SFTP, for the activity of the servers. Operations of one kind in one folder within a
 * minute are one line with a count, so that an upload of thousands of files is a line. The number of lines is bounded,
 * whatever a client does.
 */
export class SftpActivity {
  readonly #options: SftpActivityOptions;
  readonly #lines = new Map<string, Line>();
  /** Lines by server. */
  readonly #ofServer = new Map<string, number>();
  readonly #instance = randomUUID();
  #batches = 0;
  /** A batch that control has not confirmed: it is sent again under its name. */
  #unconfirmed: { readonly name: string; readonly lines: readonly SftpLine[] } | null = null;
  #sending: Promise<boolean> | null = null;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SftpActivityOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), TICK_MS).unref();
  }

  /** Sends what waits, if control answers soon. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const line of this.#lines.values()) line.dueAtMs = 0;
    const all = async (): Promise<void> => {
      while (this.#hasDue() && (await this.#tick()));
    };
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LAST_MS);
    await Promise.race([all(), late]);
    clearTimeout(timer);
  }

  record({ session, source }: Doer, { action, path, to, refused }: Done): void {
    const [from, target] = [namesOf(path), namesOf(to ?? '')];
    const { server, person, credential } = session;
    const about = [server, person, credential, source, action, refused ?? ''].join('\n');
    const folder = formatPath(from.slice(0, -1));
    const known = this.#lines.get(`${about}\n${folder}`);
    if (known !== undefined) {
      this.#repeat(known, folder);
      return;
    }
    const isFull = (this.#ofServer.get(server) ?? 0) >= MAX_OF_SERVER;
    const line = { session, source, action, refused };
    if (!isFull) {
      const one = { path: formatPath(from), to: to === undefined ? null : formatPath(target) };
      this.#add(`${about}\n${folder}`, { ...line, ...one, folder: null });
      return;
    }
    const rest = this.#lines.get(`${about}\nrest`);
    if (rest !== undefined) rest.times += 1;
    else this.#add(`${about}\nrest`, { ...line, path: null, to: null, folder: '' });
  }

  /** Called when a session has closed: its lines wait no longer. */
  ended(ref: SftpSessionRef): void {
    for (const one of this.#lines.values()) if (one.line.session === ref) one.dueAtMs = 0;
  }

  #repeat(known: Line, folder: string): void {
    known.times += 1;
    // The names of many would be a log of their own.
    known.line = { ...known.line, path: null, to: null, folder };
  }

  #add(key: string, line: Line['line']): void {
    if (this.#lines.size >= MAX_LINES) {
      this.#dropped += 1;
      return;
    }
    const { lineMs = LINE_MS } = this.#options;
    this.#lines.set(key, { line, times: 1, dueAtMs: performance.now() + lineMs });
    const { server } = line.session;
    this.#ofServer.set(server, (this.#ofServer.get(server) ?? 0) + 1);
  }

  #hasDue(): boolean {
    const now = performance.now();
    return (
      this.#unconfirmed !== null || [...this.#lines.values()].some(({ dueAtMs }) => dueAtMs <= now)
    );
  }

  /** Whether control has what was due. */
  #tick(): Promise<boolean> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  /** Never rejects. One batch at a time, so that control need remember the last one only. */
  async #send(): Promise<boolean> {
    this.#unconfirmed ??= this.#take();
    if (this.#unconfirmed === null) return true;
    const { send, log } = this.#options;
    const { name, lines } = this.#unconfirmed;
    try {
      await send(name, lines);
      this.#unconfirmed = null;
    } catch (error) {
      // An older control, which does not know them.
      const isUnknown = error instanceof RefusedByControl && error.code === 'unsupported';
      if (isUnknown) this.#unconfirmed = null;
      log.debug({ error: describeError(error) }, 'activity of SFTP was not reported');
    }
    return this.#unconfirmed === null;
  }

  #take(): { readonly name: string; readonly lines: readonly SftpLine[] } | null {
    const now = performance.now();
    const lines: SftpLine[] = [];
    for (const [key, { line, times, dueAtMs }] of this.#lines) {
      if (dueAtMs > now) continue;
      if (lines.length >= MAX_SFTP_LINES) break;
      this.#lines.delete(key);
      const { server } = line.session;
      const left = (this.#ofServer.get(server) ?? 1) - 1;
      if (left === 0) this.#ofServer.delete(server);
      else this.#ofServer.set(server, left);
      lines.push({ ...line, times });
    }
    const sayable = lines.filter(isSayable);
    if (sayable.length < lines.length) {
      const count = lines.length - sayable.length;
      this.#options.log.warn({ count }, 'activity of SFTP has not the form that control takes');
    }
    if (sayable.length === 0) return null;
    if (this.#dropped > 0) {
      this.#options.log.warn({ count: this.#dropped }, 'activity of SFTP was more than is kept');
      this.#dropped = 0;
    }
    this.#batches += 1;
    return { name: `${this.#instance}.${this.#batches}`, lines: sayable };
  }
}

/** Control ends the link of a node whose request has not its form: one line would hold back those of everyone, for ever. */
function isSayable(line: SftpLine): boolean {
  return parseRequest('node', { kind: 'sftp.activity', batch: 'one', lines: [line] }).ok;
}

/** The names of a path in their one spelling; of what is no path, none. */
function namesOf(text: string): FilePath {
  const path = parsePath(text);
  return path.ok ? path.value : [];
}
