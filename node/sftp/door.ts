import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '@portcullis/core/log.ts';
import { MAX_SFTP_SESSIONS, type SftpLogin } from '@portcullis/link/messages/sftp.ts';
import type { ControlClient } from '../control-client.ts';
import type { FileService } from '../files/service.ts';
import { loadHostKey } from './host-key.ts';
import { type FromProcess, SFTP_LIMITS, type SftpLimits, type ToProcess } from './messages.ts';
import { SftpSession } from './session.ts';

/** Rights end by time too, and notices may be lost. */
const CHECK_MS = 30_000;
/** A process that ended is begun again, ever less often. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const PROCESS = fileURLToPath(new URL('process.ts', import.meta.url));

export interface SftpDoorOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly stateDir: string;
  readonly control: Pick<ControlClient, 'sftpLogin' | 'sftpCheck'>;
  readonly files: FileService;
  readonly log: Log;
  /** For tests. */
  readonly limits?: SftpLimits;
}

/**
 * The SFTP server of a node, on the side of the agent: it begins the process that speaks the protocol, asks control who may
 * connect, and does what the process asks for through the gate of the files.
 */
export class SftpDoor {
  readonly #options: SftpDoorOptions;
  readonly #sessions = new Map<number, SftpSession>();
  /** Connections whose login control decides about; they may close meanwhile. */
  readonly #loggingIn = new Map<number, { isClosed: boolean }>();
  readonly #closing = new Set<Promise<void>>();
  #process: ChildProcess | null = null;
  #retryMs = FIRST_RETRY_MS;
  #retry: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | null = null;
  #isStopped = false;
  #listening = Promise.withResolvers<number>();

  constructor(options: SftpDoorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), CHECK_MS).unref();
    this.#begin();
  }

  /** The port that it listens on. */
  get listening(): Promise<number> {
    return this.#listening.promise;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#process?.kill('SIGKILL');
    for (const connection of this.#sessions.keys()) this.#forget(connection, 'lost');
    await Promise.all(this.#closing);
  }

  /** Asks control for the rights of every session, and ends or narrows them. */
  async check(): Promise<void> {
    // One that runs may have read what was before.
    await this.#checking;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { control, log } = this.#options;
    const all = [...this.#sessions].slice(0, MAX_SFTP_SESSIONS);
    if (all.length === 0) return;
    try {
      const rights = await control.sftpCheck(all.map(([, { ref }]) => ref));
      for (const [index, [connection, session]] of all.entries()) {
        const own = rights[index] ?? null;
        if (own === null) this.#end(connection);
        else await session.narrow(own);
      }
    } catch (error) {
      log.debug({ error }, 'the rights of SFTP sessions were not checked');
    }
  }

  #end(connection: number): void {
    this.#send({ kind: 'end', connection });
    this.#forget(connection, 'forbidden');
  }

  #forget(connection: number, end: 'lost' | 'forbidden'): void {
    const login = this.#loggingIn.get(connection);
    if (login !== undefined) login.isClosed = true;
    const session = this.#sessions.get(connection);
    if (session === undefined) return;
    this.#sessions.delete(connection);
    const closing = session.close(end).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #begin(): void {
    const { listen, stateDir, log, limits = SFTP_LIMITS } = this.#options;
    // Without the environment of the agent, which holds its credential.
    const child = spawn(process.execPath, ['--max-old-space-size=256', PROCESS], {
      cwd: '/',
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    });
    this.#process = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log.warn({ text: text.trim().slice(0, 1_000) }, 'the SFTP server');
    });
    child.on('error', () => undefined);
    child.on('message', (message) => this.#receive(message as FromProcess));
    child.once('exit', () => this.#onExit());
    try {
      const { secret: hostKey } = loadHostKey(stateDir);
      this.#send({ kind: 'start', ...listen, hostKey, limits });
    } catch (error) {
      log.error({ error }, 'SFTP is not served: its host key cannot be used');
      child.kill('SIGKILL');
    }
  }

  #onExit(): void {
    this.#process = null;
    for (const connection of this.#sessions.keys()) this.#forget(connection, 'lost');
    if (this.#isStopped) return;
    this.#options.log.warn({ retryMs: this.#retryMs }, 'the SFTP server ended and is begun again');
    this.#retry = setTimeout(() => this.#begin(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  #send(message: ToProcess): void {
    // One that has just ended takes nothing.
    if (this.#process?.connected === true) this.#process.send(message, () => undefined);
  }

  #receive(message: FromProcess): void {
    switch (message.kind) {
      case 'listening':
        this.#retryMs = FIRST_RETRY_MS;
        this.#listening.resolve(message.port);
        this.#options.log.info({ port: message.port }, 'SFTP is served');
        return;
      case 'login':
        void this.#login(message.connection, message.login).then((isAdmitted) =>
          this.#send({ kind: 'admission', id: message.id, isAdmitted }),
        );
        return;
      case 'operation':
        void this.#perform(message);
        return;
      case 'closed':
      default:
        this.#forget(message.connection, 'lost');
    }
  }

  /** Never rejects. */
  async #login(connection: number, login: Omit<SftpLogin, 'kind'>): Promise<boolean> {
    const { control, files, log } = this.#options;
    const { email, server, method, source } = login;
    const state = { isClosed: false };
    this.#loggingIn.set(connection, state);
    try {
      const reply = await control.sftpLogin(login);
      if (reply.kind === 'sftp.denied') {
        log.info(
          { email, server, method, source, reason: reply.reason },
          'an SFTP login was refused',
        );
        return false;
      }
      if (!login.proved) return true;
      if (state.isClosed || this.#isStopped || this.#sessions.has(connection)) return false;
      this.#sessions.set(connection, new SftpSession(files, reply));
      log.info(
        { uuid: reply.session.server, actor: reply.actor, method, source, door: 'sftp' },
        'connected',
      );
      return true;
    } catch (error) {
      log.warn({ error, source }, 'control did not answer an SFTP login');
      return false;
    } finally {
      this.#loggingIn.delete(connection);
    }
  }

  async #perform({
    id,
    connection,
    operation,
  }: FromProcess & { kind: 'operation' }): Promise<void> {
    const session = this.#sessions.get(connection);
    const result =
      session === undefined
        ? ({ kind: 'refused', code: 'forbidden', reason: 'This connection has ended.' } as const)
        : await session.perform(operation);
    this.#send({ kind: 'result', id, result });
  }
}
