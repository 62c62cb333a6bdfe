import { connect } from 'node:net';
import { FramedSocket } from './framed-socket.ts';
import {
  type AgentRef,
  type AgentRequest,
  type ControlReply,
  type Notice,
  parseNotice,
  parseReply,
} from '../messages/messages.ts';
import { PendingRequests } from './pending-requests.ts';
import { type AgentSide, LinkError } from './transport.ts';

export interface IpcAgent {
  readonly path: string;
  readonly agent: AgentRef;
  /** Presented at every connection, for a control plane that asks for one. */
  readonly credential?: string;
}

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
const MAX_REASON_LENGTH = 2_000;

/** Connects to the control plane of this host, again and again until `close`. */
export function connectIpc(options: IpcAgent): AgentSide {
  const link = new IpcAgentSide(options);
  link.open();
  return link;
}

class IpcAgentSide implements AgentSide {
  readonly #options: IpcAgent;
  readonly #pending = new PendingRequests();
  readonly #noticeListeners: ((notice: Notice) => void)[] = [];
  readonly #connectListeners: (() => void)[] = [];
  readonly #refusedListeners: ((reason: string) => void)[] = [];
  #socket: FramedSocket | null = null;
  #ready = false;
  #closed = false;
  #waitMs = FIRST_WAIT_MS;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: IpcAgent) {
    this.#options = options;
  }

  open(): void {
    const socket = connect(this.#options.path);
    const framed = new FramedSocket(socket, {
      onMessage: (message) => this.#take(message, framed),
      onEnd: (reason) => this.#lost(reason),
    });
    this.#socket = framed;
    const { agent, credential } = this.#options;
    socket.once('connect', () => framed.send({ agent, ...(credential && { credential }) }));
  }

  async request(request: AgentRequest, timeoutMs: number): Promise<ControlReply> {
    if (this.#closed) throw new LinkError('closed', 'this link was closed');
    if (!this.#ready) throw new LinkError('disconnected', 'control is not connected');
    const { id, reply } = this.#pending.add(timeoutMs);
    try {
      this.#socket?.send({ id, request });
    } catch (error) {
      this.#pending.fail(id, error as LinkError);
    }
    return reply;
  }

  onNotice(listener: (notice: Notice) => void): void {
    this.#noticeListeners.push(listener);
  }

  onConnect(listener: () => void): void {
    this.#connectListeners.push(listener);
    if (this.#ready) queueMicrotask(listener);
  }

  onRefused(listener: (reason: string) => void): void {
    this.#refusedListeners.push(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#ready = false;
    clearTimeout(this.#retry);
    this.#pending.failAll(new LinkError('closed', 'this link was closed'));
    this.#socket?.destroy('closed');
  }

  #take(message: unknown, socket: FramedSocket): void {
    const envelope: Record<string, unknown> = Object(message);
    if ('ready' in envelope) this.#greeted();
    else if (typeof envelope['refused'] === 'string') this.#refused(envelope['refused'], socket);
    else if ('notice' in envelope) this.#noticed(envelope['notice']);
    else if (typeof envelope['id'] === 'number') this.#answered(envelope['id'], envelope['reply']);
    else socket.destroy('control sent what is no message');
  }

  #greeted(): void {
    if (this.#ready || this.#closed) return;
    this.#ready = true;
    this.#waitMs = FIRST_WAIT_MS;
    for (const listener of this.#connectListeners) listener();
  }

  #refused(reason: string, socket: FramedSocket): void {
    for (const listener of this.#refusedListeners) listener(reason.slice(0, MAX_REASON_LENGTH));
    socket.destroy('control did not let this agent in');
  }

  /** A notice of a kind unknown here is a hint that this version cannot take: nothing is lost. */
  #noticed(value: unknown): void {
    const notice = parseNotice(value);
    if (notice.ok) for (const listener of this.#noticeListeners) listener(notice.value);
  }

  #answered(id: number, value: unknown): void {
    const reply = parseReply(value);
    this.#pending.answer(
      id,
      reply.ok
        ? reply.value
        : { kind: 'refused', code: 'unsupported', detail: `not understood: ${reply.reason}` },
    );
  }

  #lost(reason: string): void {
    this.#ready = false;
    this.#socket = null;
    if (this.#closed) return;
    this.#pending.failAll(
      new LinkError('disconnected', `the connection to control ended: ${reason}`),
    );
    // Spread, so that many agents of one host do not all knock at once after control restarted.
    const waitMs = this.#waitMs * (0.5 + Math.random() / 2);
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
    this.#retry = setTimeout(() => this.open(), waitMs);
  }
}
