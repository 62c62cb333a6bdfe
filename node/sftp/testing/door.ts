import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FILE_RIGHTS, type FileRight } from '@portcullis/core/access/server-rights.ts';
import type { SftpLine, SftpLogin } from '@portcullis/link/messages/sftp.ts';
import ssh2 from 'ssh2';
import { TestFiles } from '../../files/testing/files.ts';
import { SftpDoor } from '../door.ts';
import { SFTP_LIMITS, type SftpLimits } from '../messages.ts';

export const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
const ref = { person: 1, server: UUID, credential: 'password:1' };
const none = (): void => {};
const log = { debug: none, info: none, warn: none, error: none };

/** The door over real files, with a control that admits one password. */
export class TestDoor {
  readonly files: TestFiles;
  readonly door: SftpDoor;
  readonly logins: Omit<SftpLogin, 'kind'>[] = [];
  /** Activity that was reported. */
  readonly lines: SftpLine[] = [];
  /** Attempts to report it. */
  reports = 0;
  readonly #batches = new Set<string>();
  /** Control answers nothing about activity. */
  isAway = false;
  /** Null: the session has ended. */
  rights: readonly FileRight[] | null = FILE_RIGHTS;
  #port = 0;
  readonly #t: TestContext;

  constructor(t: TestContext, limits: Partial<SftpLimits> = {}) {
    this.#t = t;
    this.files = new TestFiles(t);
    const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-sftp-'));
    this.door = new SftpDoor({
      listen: { host: '127.0.0.1', port: 0 },
      stateDir,
      files: this.files.service,
      log,
      limits: { ...SFTP_LIMITS, ...limits },
      control: {
        sftpLogin: async (login) => {
          this.logins.push(login);
          return login.secret === 'right'
            ? ({
                kind: 'sftp.admitted',
                session: ref,
                actor: 'alex',
                rights: this.rights ?? [],
              } as const)
            : { kind: 'sftp.denied', reason: 'wrong' };
        },
        sftpCheck: async (sessions) => sessions.map(() => this.rights),
        sftpActivity: async (batch, lines) => {
          this.reports += 1;
          if (this.isAway) throw new Error('control is away');
          if (!this.#batches.has(batch)) this.lines.push(...lines);
          this.#batches.add(batch);
        },
      },
      onChange: none,
    });
    t.after(async () => {
      await this.door.stop();
      rmSync(stateDir, { recursive: true });
    });
  }

  async start(): Promise<this> {
    this.door.start();
    this.#port = await this.door.listening;
    return this;
  }

  /** A connection that sends nothing, from an address of loopback. */
  dial(localAddress = '127.0.0.1'): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', localAddress });
    socket.on('error', none);
    socket.resume();
    this.#t.after(() => socket.destroy());
    return socket;
  }

  /** Kills the process that speaks the protocol. */
  killProcess(): void {
    process.kill(this.#processId(), 'SIGKILL');
  }

  /** Memory of the process that speaks the protocol. */
  processMib(): number {
    const status = readFileSync(`/proc/${this.#processId()}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  }

  /** The process that speaks the protocol. Tests of one file run one after the other, and one host has one. */
  #processId(): number {
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
    const isOurs = (pid: string): boolean =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('sftp/process.ts');
    const found = children.trim().split(' ').find(isOurs);
    if (found === undefined) throw new Error('no process serves SFTP');
    return Number(found);
  }

  /** Resolves when another one serves. */
  async listensAgain(): Promise<void> {
    while ((this.door.reached?.port ?? this.#port) === this.#port) await delay(20);
    this.#port = this.door.reached?.port ?? 0;
  }

  async connect(password = 'right', algorithms: ssh2.Algorithms = {}): Promise<ssh2.Client> {
    // A refused client may report the end of its connection as a second error.
    const client = new ssh2.Client().on('error', none);
    this.#t.after(() => client.destroy());
    const ready = once(client, 'ready');
    client.connect({
      host: '127.0.0.1',
      port: this.#port,
      username: `a@b.example.${UUID}`,
      password,
      algorithms,
    });
    await ready;
    return client;
  }

  async sftp(client?: ssh2.Client): Promise<ssh2.SFTPWrapper> {
    const used = client ?? (await this.connect());
    return new Promise((resolve, reject) => {
      used.sftp((error, sftp) => (error ? reject(error) : resolve(sftp)));
    });
  }
}

/** Calls the client; `ok`, or the message of its error. */
export function outcome(call: (done: (error?: Error | null) => void) => void): Promise<string> {
  return new Promise((resolve) => call((error) => resolve(error ? error.message : 'ok')));
}

export function opened(
  sftp: ssh2.SFTPWrapper,
  path: string,
  flags: ssh2.OpenMode,
): Promise<Buffer | string> {
  return new Promise((resolve) =>
    sftp.open(path, flags, (error, handle) => resolve(error ? error.message : handle)),
  );
}

/** The channel of SFTP without the library on it. */
export function rawChannel(client: ssh2.Client): Promise<ssh2.ClientChannel> {
  return new Promise((resolve, reject) =>
    client.subsys('sftp', (error, channel) => {
      if (error) return reject(error);
      channel.on('error', () => undefined);
      resolve(channel);
    }),
  );
}
