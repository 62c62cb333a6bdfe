import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Log } from '@portcullis/core/log.ts';
import { formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import {
  MAX_SFTP_SESSIONS,
  type SftpOfNode,
  type SftpSessionRef,
} from '@portcullis/link/messages/sftp.ts';
import type { ControlClient } from '../control-client.ts';
import { releaseBytes } from '@portcullis/link/release-bytes.ts';
import type { FileService } from '../files/service.ts';
import { loadHostKey } from './host-key.ts';
import { SftpActivity } from './activity.ts';
import { type Login, LoginCache } from './login-cache.ts';
import { type FromProcess, SFTP_LIMITS, type SftpLimits, type ToProcess } from './messages.ts';
import { Listings, SftpSession } from './session.ts';

/** Rights end by time too, and notices may be lost. */
const CHECK_MS = 30_000;
/** A process that ended is begun again, ever less often. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
const PROCESS = fileURLToPath(new URL('process.ts', import.meta.url));

export interface SftpDoorOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly stateDir: string;
  readonly control: Pick<ControlClient, 'sftpLogin' | 'sftpCheck' | 'sftpActivity'>;
  readonly files: FileService;
  /** Called when it is reached elsewhere than before, or no longer. */
  readonly onChange: () => void;
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
  readonly #logins: LoginCache;
  readonly #activity: SftpActivity;
  readonly #sessions = new Map<number, SftpSession>();
  /** Connections whose login control decides about; they may close meanwhile. */
  readonly #loggingIn = new Map<number, { isClosed: boolean }>();
  readonly #listings: Listings;
  readonly #closing = new Set<Promise<void>>();
  #process: ChildProcess | null = null;
  #retryMs = FIRST_RETRY_MS;
  #retry: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | null = null;
  #reached: SftpOfNode | null = null;
  #fingerprint = '';
  #isStopped = false;
  #listening = Promise.withResolvers<number>();

  constructor(options: SftpDoorOptions) {
    this.#options = options;
    const { control, log, limits = SFTP_LIMITS } = options;
    this.#listings = new Listings(limits.entries);
    this.#logins = new LoginCache((login) => control.sftpLogin(login));
    this.#activity = new SftpActivity({
      send: (batch, lines) => control.sftpActivity(batch, lines),
      log,
    });
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), CHECK_MS).unref();
    this.#activity.start();
    this.#begin();
  }

  /** The port that it listens on. */
  get listening(): Promise<number> {
    return this.#listening.promise;
  }

  /** Where people reach it now; null: nowhere. */
  get reached(): SftpOfNode | null {
    return this.#reached;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#process?.kill('SIGKILL');
    for (const connection of this.#sessions.keys()) this.#forget(connection, 'lost');
    await Promise.all(this.#closing);
    await this.#activity.stop();
  }

  /** Asks control for the rights of every session, and ends or narrows them. Logins are asked about again. */
  async check(): Promise<void> {
    this.#logins.forget();
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
        else session.narrow(own);
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
    const closing = session.close(end).finally(() => {
      this.#closing.delete(closing);
      this.#activity.ended(session.ref);
    });
    this.#closing.add(closing);
  }

  #begin(): void {
    const { listen, stateDir, log, limits = SFTP_LIMITS } = this.#options;
    const child = this.#spawn();
    this.#process = child;
    if (child === null) return this.#onEnd();
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log.warn({ text: text.trim().slice(0, 1_000) }, 'the SFTP server');
    });
    child.on('error', (error) => log.warn({ error }, 'the process of the SFTP server'));
    child.on('message', (message) => {
      // Its last ones may come after its end, when its connections are counted no longer.
      if (this.#process === child) this.#receive(message as FromProcess);
    });
    // One that could not be started has a close and no exit.
    child.once('close', () => this.#onEnd());
    try {
      const { secret: hostKey, fingerprint } = loadHostKey(stateDir, log);
      this.#fingerprint = fingerprint;
      this.#send({ kind: 'start', ...listen, hostKey, limits });
    } catch (error) {
      log.error({ error }, 'SFTP is not served: its host key cannot be used');
      child.kill('SIGKILL');
    }
  }

  /** Null: it could not be started. */
  #spawn(): ChildProcess | null {
    try {
      // Without the environment of the agent, which holds its credential.
      return spawn(process.execPath, ['--max-old-space-size=256', PROCESS], {
        cwd: '/',
        env: {},
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        serialization: 'advanced',
      });
    } catch (error) {
      this.#options.log.warn({ error }, 'the process of the SFTP server');
      return null;
    }
  }

  #onEnd(): void {
    this.#process = null;
    this.#reach(null);
    for (const connection of this.#sessions.keys()) this.#forget(connection, 'lost');
    // The next process counts its connections from the beginning.
    for (const login of this.#loggingIn.values()) login.isClosed = true;
    this.#loggingIn.clear();
    if (this.#isStopped) return;
    this.#options.log.warn({ retryMs: this.#retryMs }, 'the SFTP server ended and is begun again');
    this.#retry = setTimeout(() => this.#begin(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  #reach(port: number | null): void {
    const { listen, onChange } = this.#options;
    const address = parseAddress(listen.host);
    const isAll = listen.host === '::' || listen.host === '0.0.0.0' || !address.ok;
    this.#reached =
      port === null
        ? null
        : {
            port,
            address: isAll ? null : formatAddress(address.value),
            fingerprint: this.#fingerprint,
          };
    if (!this.#isStopped) onChange();
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
        this.#reach(message.port);
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
  async #login(connection: number, login: Login): Promise<boolean> {
    const { files, log } = this.#options;
    const { email, server, method, source } = login;
    const state = { isClosed: false };
    this.#loggingIn.set(connection, state);
    const { version } = this.#logins;
    try {
      const reply = await this.#logins.login(login);
      if (reply.kind === 'sftp.denied') {
        log.info(
          { email, server, method, source, reason: reply.reason },
          'an SFTP login was refused',
        );
        return false;
      }
      if (!login.proved) return true;
      if (state.isClosed || this.#isStopped || this.#sessions.has(connection)) return false;
      const { session: ref } = reply;
      if (this.#hasTooMany(ref)) {
        log.info({ uuid: ref.server, actor: reply.actor, source }, 'too many SFTP connections');
        return false;
      }
      const session = new SftpSession(files, reply, {
        record: (done) => this.#activity.record({ session: ref, source }, done),
        listings: this.#listings,
      });
      this.#sessions.set(connection, session);
      // Rights changed while control answered, and the answer may be of those before.
      if (version !== this.#logins.version) void this.check();
      log.info(
        { uuid: reply.session.server, actor: reply.actor, method, source, door: 'sftp' },
        'connected',
      );
      return true;
    } catch (error) {
      log.warn({ error, source }, 'control did not answer an SFTP login');
      return false;
    } finally {
      if (this.#loggingIn.get(connection) === state) this.#loggingIn.delete(connection);
    }
  }

  /** Whether no more connections are left of a person, or to a server, that others have some. */
  #hasTooMany({ person, server }: SftpSessionRef): boolean {
    const { perPerson, perServer } = this.#options.limits ?? SFTP_LIMITS;
    const all = [...this.#sessions.values()].map(({ ref }) => ref);
    return (
      all.filter((one) => one.person === person).length >= perPerson ||
      all.filter((one) => one.server === server).length >= perServer
    );
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
    // The channel of the process has a copy.
    if (result.kind === 'data' && result.data !== null) releaseBytes(result.data);
  }
}
