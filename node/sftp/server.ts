import type { Socket } from 'node:net';
import { subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import ssh2 from 'ssh2';
import { SftpConnection } from './connection.ts';
import type { FromProcess, SftpLimits, SftpOperation, SftpResult, ToProcess } from './messages.ts';

export interface SftpServerOptions {
  readonly hostKey: string;
  readonly limits: SftpLimits;
  readonly send: (message: FromProcess) => void;
}

/** The connections of the process, and what bounds them together. */
export class SftpServer {
  readonly #options: SftpServerOptions;
  readonly #ssh: InstanceType<typeof ssh2.Server>;
  readonly #connections = new Map<number, SftpConnection>();
  /** The open sockets, each with the timer that ends it; null: somebody has logged in. */
  readonly #sockets = new Map<Socket, NodeJS.Timeout | null>();
  readonly #sources = new Map<string, number>();
  readonly #admissions = new Map<number, (isAdmitted: boolean) => void>();
  readonly #results = new Map<number, (result: SftpResult) => void>();
  #lastId = 0;
  #bytes = 0;

  constructor(options: SftpServerOptions) {
    this.#options = options;
    this.#ssh = new ssh2.Server({ hostKeys: [options.hostKey], ident: 'portcullis' }, (client) => {
      const socket = (client as unknown as { readonly _sock: Socket })._sock;
      this.#begin(client, socket);
    });
  }

  /** Takes a connection of the network, or closes it. */
  accept(socket: Socket): void {
    const { connections, perSource, waiting, loginMs } = this.#options.limits;
    socket.on('error', () => socket.destroy());
    const source = subscriberBlock(socket.remoteAddress?.replace(/^::ffff:/, '') ?? '');
    const ofSource = this.#sources.get(source) ?? 0;
    const loggingIn = [...this.#sockets.values()].filter((timer) => timer !== null);
    const isFull = this.#sockets.size >= connections || loggingIn.length >= waiting;
    if (source === '' || isFull || ofSource >= perSource) {
      socket.destroy();
      return;
    }
    this.#sources.set(source, ofSource + 1);
    // Of its own, because the library knows nothing of a client that says nothing.
    this.#sockets.set(
      socket,
      setTimeout(() => socket.destroy(), loginMs),
    );
    socket.once('close', () => {
      this.#admitted(socket);
      this.#sockets.delete(socket);
      const left = (this.#sources.get(source) ?? 1) - 1;
      if (left === 0) this.#sources.delete(source);
      else this.#sources.set(source, left);
    });
    // Nagle and delayed acknowledgements together make uploads five times slower.
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    this.#ssh.injectSocket(socket);
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
    clearTimeout(this.#sockets.get(socket) ?? undefined);
    this.#sockets.set(socket, null);
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
