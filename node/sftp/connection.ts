import type { Socket } from 'node:net';
import { sourceOf } from '@portcullis/core/net/subscriber.ts';
import type { SftpLogin } from '@portcullis/link/messages/sftp.ts';
import ssh2 from 'ssh2';
import type { SftpLimits, SftpOperation, SftpResult } from './messages.ts';
import { prepareKeys } from './cipher-keys.ts';
import { SftpChannel } from './channel.ts';
import { announceLimits, insideOf } from './limits-extension.ts';

export interface ConnectionOptions {
  readonly limits: SftpLimits;
  /** Called when somebody has logged in. */
  readonly admitted: () => void;
  readonly login: (login: Omit<SftpLogin, 'kind'>) => Promise<boolean>;
  readonly perform: (operation: SftpOperation) => Promise<SftpResult>;
  /** Counts bytes that wait, or that are done as a negative number; false: too many wait in all. */
  readonly hold: (bytes: number) => boolean;
  readonly closed: () => void;
}

const METHODS: ssh2.AuthenticationType[] = ['publickey', 'password'];
/** A file manager that was left open. */
const IDLE_MS = 3_600_000;
/** Bytes of answers that wait for the network. */
const MAX_UNSENT = 1024 * 1024;

/** One connection: who it is of, and its SFTP channels. Everything else that SSH can do is refused. */
export class SftpConnection {
  readonly #client: ssh2.Connection;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #source: string;
  #refused = 0;
  #bytes = 0;
  #handles = 0;
  #channels = 0;
  readonly #open = new Set<SftpChannel>();
  #isCorked = false;
  #isClosed = false;

  constructor(client: ssh2.Connection, socket: Socket, options: ConnectionOptions) {
    const { limits } = options;
    this.#client = client;
    this.#socket = socket;
    this.#options = options;
    this.#source = sourceOf(socket);
    client.on('handshake', () => prepareKeys(client));
    client.on('authentication', (context) => {
      void this.#authenticate(context).catch(() => this.end());
    });
    client.on('session', (accept, reject) => {
      if (this.#channels >= limits.channels) {
        reject();
        return;
      }
      this.#channels += 1;
      this.#serve(accept());
    });
    // A client that leaves without a word is an error to the library.
    client.on('error', () => this.end());
    socket.setTimeout(IDLE_MS, () => this.end());
    socket.once('close', () => this.#close());
    socket.on('drain', () => {
      for (const channel of this.#open) channel.resume();
    });
  }

  end(): void {
    this.#client.end();
    this.#socket.destroy();
  }

  /** Goes on to read, if what waits of this connection is little. */
  resume(): void {
    if (this.#bytes <= this.#options.limits.bytes / 2 && this.#socket.isPaused()) {
      this.#socket.resume();
    }
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.closed();
  }

  async #authenticate(context: ssh2.AuthContext): Promise<void> {
    const wanted = parseUser(context.username);
    if (context.method === 'none' || wanted === null) return this.#refuse(context);
    const proof = proofOf(context);
    const isGood =
      proof !== null && (await this.#options.login({ ...wanted, ...proof, source: this.#source }));
    if (!isGood) return this.#refuse(context);
    if (proof.proved) this.#options.admitted();
    context.accept();
  }

  #refuse(context: ssh2.AuthContext): void {
    if (context.method !== 'none') this.#refused += 1;
    if (this.#refused >= this.#options.limits.tries) return this.end();
    context.reject(METHODS);
  }

  #serve(session: ssh2.Session): void {
    // The library never forgets a session without a channel, so such a one counts to the end.
    const started = (): void => {
      session.once('close', () => {
        this.#channels -= 1;
      });
    };
    session.once('sftp', (accept) => {
      started();
      this.#begin(accept());
    });
    // These are answered, because clients show their person no reason for a refusal.
    for (const kind of ['exec', 'shell'] as const) {
      session.once(kind, (accept: () => ssh2.ServerChannel) => {
        started();
        refuse(accept());
      });
    }
  }

  #begin(sftp: ssh2.SFTPWrapper): void {
    const { limits, perform } = this.#options;
    announceLimits(insideOf(sftp));
    const channel = new SftpChannel(sftp, {
      maxWaiting: limits.requests,
      handles: limits.handles,
      hasRoom: () => this.#socket.writableLength < MAX_UNSENT,
      answering: () => this.#sendTogether(),
      perform: async (operation) => {
        if (operation.kind === 'write') return this.#write(operation);
        return perform(operation);
      },
      takeHandle: () => {
        if (this.#handles >= limits.handles) return false;
        this.#handles += 1;
        return true;
      },
      giveHandle: () => {
        this.#handles -= 1;
      },
      end: () => this.end(),
    });
    channel.serve();
    this.#open.add(channel);
    sftp.once('close', () => this.#open.delete(channel));
  }

  /** A packet of the library is three writes. All of one moment are one, which the client reads at once. */
  #sendTogether(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#socket.cork();
    setImmediate(() => {
      this.#isCorked = false;
      this.#socket.uncork();
    });
  }

  /** Stops reading while too much waits to be written. */
  async #write(operation: SftpOperation & { readonly kind: 'write' }): Promise<SftpResult> {
    const { limits, perform, hold } = this.#options;
    const { length } = operation.data;
    this.#bytes += length;
    const isWithinAll = hold(length);
    if (this.#bytes > limits.bytes || !isWithinAll) this.#socket.pause();
    try {
      return await perform(operation);
    } finally {
      this.#bytes -= length;
      hold(-length);
      this.resume();
    }
  }
}

/** The answer to a command, such as `scp -O` sends, and to a shell. */
const ONLY_SFTP = 'This server speaks SFTP only, without commands. Use scp without -O.\n';

function refuse(channel: ssh2.ServerChannel): void {
  // What the client sends would wait in memory.
  channel.on('error', () => undefined).resume();
  channel.stderr.write(ONLY_SFTP);
  channel.exit(1);
  channel.end();
}

/** Parses `person@example.net.1a2b3c4d`: the server is behind the last dot. */
function parseUser(user: string): { readonly email: string; readonly server: string } | null {
  const at = user.lastIndexOf('.');
  const [email, server] = [user.slice(0, at), user.slice(at + 1)];
  const isPossible = at > 0 && email.length <= 254 && server.length > 0 && server.length <= 64;
  return isPossible ? { email, server } : null;
}

/** The key or password that a client presents; null for a wrong signature, and for a method that is not taken. */
function proofOf(
  context: ssh2.AuthContext,
): Pick<SftpLogin, 'method' | 'secret' | 'proved'> | null {
  if (context.method === 'password') {
    const { password } = context;
    if (password === '' || password.length > 256) return null;
    return { method: 'password', secret: password, proved: true };
  }
  if (context.method !== 'publickey') return null;
  const { data } = context.key;
  const { signature, blob, hashAlgo } = context;
  if (data.length > 2_048) return null;
  if (signature !== undefined) {
    const key = ssh2.utils.parseKey(data);
    if (key instanceof Error || blob === undefined) return null;
    // The library returns an error too, though its types do not say so.
    const isSigned: unknown = key.verify(blob, signature, hashAlgo);
    if (isSigned !== true) return null;
  }
  return { method: 'key', secret: data.toString('base64'), proved: signature !== undefined };
}
