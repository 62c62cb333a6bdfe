import type { Socket } from 'node:net';
import { sourceOf, subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import ssh2 from 'ssh2';
import { SftpConnection } from './connection.ts';
import type { FromProcess, SftpLimits, SftpOperation, SftpResult, ToProcess } from './messages.ts';

export interface SftpServerOptions {
  readonly hostKey: string;
  readonly limits: SftpLimits;
  readonly send: (message: FromProcess) => void;
}

/**
 * Algorithms that every client of today has, and the processor computes: no compression, which one packet could make a thousand, and
 * no groups of Diffie and Hellman, whose work a client without a login could ask for.
 */
const ALGORITHMS: ssh2.Algorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
  ],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
  ],
  hmac: [
    'hmac-sha2-256-etm@openssh.com',
    'hmac-sha2-512-etm@openssh.com',
    'hmac-sha2-256',
    'hmac-sha2-512',
  ],
  compress: ['none'],
};

interface OpenSocket {
  readonly source: string;
  /** Ends it; null: somebody has logged in. */
  timer: NodeJS.Timeout | null;
}

/** The connections of the process, and what bounds them together. */
export class SftpServer {
  readonly #options: SftpServerOptions;
  readonly #ssh: InstanceType<typeof ssh2.Server>;
  readonly #connections = new Map<number, SftpConnection>();
  readonly #sockets = new Map<Socket, OpenSocket>();
  readonly #admissions = new Map<number, (isAdmitted: boolean) => void>();
  readonly #results = new Map<number, (result: SftpResult) => void>();
  #lastId = 0;
  #bytes = 0;

  constructor(options: SftpServerOptions) {
    this.#options = options;
    const { hostKey } = options;
    const config = { hostKeys: [hostKey], ident: 'portcullis', algorithms: ALGORITHMS };
    this.#ssh = new ssh2.Server(config, (client) => {
      const socket = (client as unknown as { readonly _sock: Socket })._sock;
      this.#begin(client, socket);
    });
  }

  /** Takes a connection of the network, or closes it. */
  accept(socket: Socket): void {
    const { connections, perSource, waiting, loginMs } = this.#options.limits;
    socket.on('error', () => socket.destroy());
    const source = subscriberBlock(sourceOf(socket));
    const all = [...this.#sockets.values()];
    const isFull = all.length >= connections;
    const ofSource = all.filter((one) => one.source === source).length;
    if (source === '' || isFull || ofSource >= perSource) {
      socket.destroy();
      return;
    }
    if (all.filter(({ timer }) => timer !== null).length >= waiting) this.#endOldestOfMost();
    // Of its own, because the library knows nothing of a client that says nothing.
    const timer = setTimeout(() => socket.destroy(), loginMs);
    this.#sockets.set(socket, { source, timer });
    socket.once('close', () => {
      this.#admitted(socket);
      this.#sockets.delete(socket);
    });
    // Nagle and delayed acknowledgements together make uploads five times slower.
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    this.#ssh.injectSocket(socket);
  }

  /**
   * Makes room for a connection that logs in, at the cost of the source that has most of those: a source that opens many
   * and never logs in ends its own.
   */
  #endOldestOfMost(): void {
    const waiting = new Map<string, Socket[]>();
    for (const [socket, { source, timer }] of this.#sockets) {
      if (timer === null) continue;
      const own = waiting.get(source) ?? [];
      own.push(socket);
      waiting.set(source, own);
    }
    const [most] = [...waiting.values()].toSorted((a, b) => b.length - a.length);
    const [oldest] = most ?? [];
    if (oldest === undefined) return;
    oldest.destroy();
    // It closes a moment later, and must not count meanwhile.
    this.#admitted(oldest);
    this.#sockets.delete(oldest);
  }

  receive(message: Exclude<ToProcess, { kind: 'start' }>): void {
    switch (message.kind) {
      case 'admission':
        this.#admissions.get(message.id)?.(message.isAdmitted);
        this.#admissions.delete(message.id);
        return;
      case 'result':
        this.#results.get(message.id)?.(message.result);
        this.#results.delete(message.id);
        return;
      case 'end':
      default:
        this.#connections.get(message.connection)?.end();
    }
  }

  /** Somebody has logged in: there is time now. */
  #admitted(socket: Socket): void {
    const open = this.#sockets.get(socket);
    if (open === undefined) return;
    clearTimeout(open.timer ?? undefined);
    open.timer = null;
  }

  #begin(client: ssh2.Connection, socket: Socket): void {
    const { limits, send } = this.#options;
    const connection = (this.#lastId += 1);
    this.#connections.set(
      connection,
      new SftpConnection(client, socket, {
        limits,
        login: (login) =>
          new Promise((resolve) => {
            const id = (this.#lastId += 1);
            this.#admissions.set(id, resolve);
            send({ kind: 'login', id, connection, login });
          }),
        admitted: () => this.#admitted(socket),
        perform: (operation) => this.#perform(connection, operation),
        hold: (bytes) => {
          this.#bytes += bytes;
          return this.#bytes <= limits.allBytes;
        },
        closed: () => {
          this.#connections.delete(connection);
          send({ kind: 'closed', connection });
          this.#resumeAll();
        },
      }),
    );
  }

  async #perform(connection: number, operation: SftpOperation): Promise<SftpResult> {
    const id = (this.#lastId += 1);
    const result = new Promise<SftpResult>((resolve) => this.#results.set(id, resolve));
    this.#options.send({ kind: 'operation', id, connection, operation });
    try {
      return await result;
    } finally {
      if (operation.kind === 'write') this.#resumeAll();
    }
  }

  #resumeAll(): void {
    if (this.#bytes > this.#options.limits.allBytes / 2) return;
    for (const connection of this.#connections.values()) connection.resume();
  }
}
