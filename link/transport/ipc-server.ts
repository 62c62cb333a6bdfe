import { chmod, lstat, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { FramedSocket } from './framed-socket.ts';
import {
  type AgentRef,
  type ControlReply,
  isFor,
  type Notice,
  parseAgentRef,
  parseRequest,
} from '../messages/messages.ts';
import { anyObject, check } from '../messages/schema.ts';
import {
  type Admission,
  type Admit,
  type AgentHandler,
  type ControlSide,
  MAX_CREDENTIAL_LENGTH,
} from './transport.ts';

export interface IpcServer {
  /** At most 107 bytes, a limit of the kernel. */
  readonly path: string;
  readonly handler: AgentHandler;
  /** Without it, whoever may open the socket is let in: the file's permissions are the authentication. */
  readonly admit?: Admit;
  /** Of the socket file; 0660 unless said. */
  readonly mode?: number;
  /** A handler that threw, or a reply too large to send; the agent is told `unavailable`. */
  readonly onError?: (error: unknown) => void;
}

const MAX_AGENTS = 256;
const MAX_UNDER_WAY = 256;
const MAX_PATH_BYTES = 107;
const GREETING_MS = 5_000;
const CLOSE_MS = 2_000;
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Serves agents of this host: whom the file's permissions let in (0660, the group of its folder) and `admit` admits. */
export async function serveIpc(options: IpcServer): Promise<ControlSide> {
  if (Buffer.byteLength(options.path) > MAX_PATH_BYTES) {
    throw new Error(
      `the socket path ${options.path} has more than ${MAX_PATH_BYTES} bytes, which no system takes: choose a shorter data directory`,
    );
  }
  await removeStaleSocket(options.path);
  const connections = new Set<AgentConnection>();
  const server = createServer((socket) => {
    const connection = new AgentConnection(options, () => connections.delete(connection));
    connections.add(connection);
    connection.attach(new FramedSocket(socket, connection));
  });
  server.maxConnections = MAX_AGENTS;
  await listen(server, options.path);
  await chmod(options.path, options.mode ?? 0o660);
  return {
    notify: (notice) => {
      let handed = 0;
      for (const connection of connections) if (connection.notify(notice)) handed += 1;
      return handed;
    },
    recheck: (whom) => {
      for (const connection of connections) connection.recheck(whom);
    },
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...connections].map((connection) => connection.close()));
      await closed;
    },
  };
}

/** A socket file outlives a killed server; one that nobody answers at is removed. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isSocket()) throw new Error(`${path} is there and is no socket: remove it`);
  const answered = await new Promise<boolean>((resolve, reject) => {
    const probe = connect(path);
    probe.on('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve(false);
      else reject(new Error(`cannot use the socket ${path}`, { cause: error }));
    });
  });
  if (answered) throw new Error(`another control plane already serves ${path}`);
  await unlink(path);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

class AgentConnection {
  readonly #options: IpcServer;
  readonly #onGone: () => void;
  readonly #greeting: NodeJS.Timeout;
  #socket: FramedSocket | null = null;
  /** Who it says it is, from its greeting on. */
  #greeted: AgentRef | null = null;
  #credential: string | null = null;
  /** Who it is, once admitted. */
  #agent: AgentRef | null = null;
  #turnedAway = false;
  #underWay = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: IpcServer, onGone: () => void) {
    this.#options = options;
    this.#onGone = onGone;
    this.#greeting = setTimeout(() => this.#socket?.destroy('no greeting'), GREETING_MS);
  }

  attach(socket: FramedSocket): void {
    this.#socket = socket;
  }

  notify(notice: Notice): boolean {
    if (this.#agent === null || this.#socket === null || !isFor(notice, this.#agent)) return false;
    // To an agent that does not read, notices would only pile up.
    if (this.#socket.unsentBytes > MAX_UNREAD_BYTES) return false;
    this.#socket.send({ notice });
    return true;
  }

  /** Also of one that is about to be admitted, perhaps by what does not hold any more. */
  recheck(whom: (agent: AgentRef) => boolean): void {
    const agent = this.#greeted;
    if (agent === null || !whom(agent)) return;
    void this.#askAdmission(agent, this.#credential).then((admission) => {
      if (!admission.ok) this.#turnAway(admission.reason);
    });
  }

  async close(): Promise<void> {
    this.#socket?.hold();
    if (this.#underWay > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, CLOSE_MS);
      await Promise.race([idle, late.promise]);
      clearTimeout(timer);
    }
    await this.#socket?.end();
  }

  readonly onEnd = (): void => {
    clearTimeout(this.#greeting);
    this.#onGone();
  };

  readonly onMessage = (message: unknown): void => {
    const envelope = asObject(message);
    if (this.#agent === null) this.#greet(envelope);
    else this.#take(this.#agent, envelope);
  };

  #greet(envelope: Record<string, unknown>): void {
    const agent = parseAgentRef(envelope['agent']);
    const credential = envelope['credential'] ?? null;
    const presentable =
      credential === null ||
      (typeof credential === 'string' && credential.length <= MAX_CREDENTIAL_LENGTH);
    if (!agent.ok || !presentable || this.#greeted !== null) {
      this.#socket?.destroy(agent.ok ? 'no credential' : agent.reason);
      return;
    }
    this.#greeted = agent.value;
    this.#credential = credential;
    // What it sends meanwhile waits: nothing is read before it is known who speaks.
    this.#socket?.hold();
    void this.#admit(agent.value, credential);
  }

  async #admit(agent: AgentRef, credential: string | null): Promise<void> {
    const admission = await this.#askAdmission(agent, credential);
    clearTimeout(this.#greeting);
    if (!admission.ok) {
      this.#turnAway(admission.reason);
      return;
    }
    if (this.#turnedAway) return;
    this.#agent = agent;
    this.#socket?.send({ ready: true });
    this.#socket?.release();
  }

  /** From here on nothing of it is handled, and it hears nothing but why. */
  #turnAway(reason: string): void {
    if (this.#turnedAway) return;
    this.#turnedAway = true;
    this.#agent = null;
    this.#socket?.hold();
    this.#socket?.send({ refused: reason });
    void this.#socket?.end();
  }

  async #askAdmission(agent: AgentRef, credential: string | null): Promise<Admission> {
    try {
      return (await this.#options.admit?.(agent, credential)) ?? { ok: true };
    } catch (error) {
      this.#options.onError?.(error);
      return { ok: false, reason: 'Control failed at this; its log says why.' };
    }
  }

  #take(agent: AgentRef, envelope: Record<string, unknown>): void {
    const id = envelope['id'];
    const request = parseRequest(agent.kind, envelope['request']);
    if (typeof id !== 'number' || (!request.ok && request.unknownKind === null)) {
      this.#socket?.destroy(request.ok ? 'a request without an id' : request.reason);
      return;
    }
    if (!request.ok) {
      this.#reply(id, { kind: 'refused', code: 'unsupported', detail: request.reason });
      return;
    }
    this.#underWay += 1;
    if (this.#underWay >= MAX_UNDER_WAY) this.#socket?.hold();
    void this.#answer(id, () => this.#options.handler(agent, request.value));
  }

  async #answer(id: number, handle: () => Promise<ControlReply>): Promise<void> {
    try {
      this.#reply(id, await handle());
    } catch (error) {
      this.#options.onError?.(error);
      const detail = 'control failed at this request; its log says why';
      this.#reply(id, { kind: 'refused', code: 'unavailable', detail });
    }
    this.#underWay -= 1;
    if (this.#onIdle === null && !this.#turnedAway) this.#socket?.release();
    else if (this.#underWay === 0) this.#onIdle?.();
  }

  #reply(id: number, reply: ControlReply): void {
    if (this.#turnedAway) return;
    this.#socket?.send({ id, reply });
  }
}

function asObject(message: unknown): Record<string, unknown> {
  const checked = check(anyObject, message);
  return checked.ok ? checked.value : {};
}
