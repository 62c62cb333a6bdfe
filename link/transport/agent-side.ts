import type { Duplex } from 'node:stream';
import {
  type AgentRef,
  type AgentRequest,
  type ControlReply,
  type Notice,
  parseCall,
  parseNotice,
  parseReply,
} from '../messages/messages.ts';
import { FramedStream } from './framed-stream.ts';
import { PendingRequests } from './pending-requests.ts';
import { type AgentSide, type CallHandler, LinkError } from './transport.ts';

export interface AgentConnectOptions {
  readonly agent: AgentRef;
  /** Presented at every connection, for a control plane that requires one. */
  readonly credential?: string;
}

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;
const MAX_REASON_LENGTH = 2_000;

/** Connects to control over the streams of `open`, again and again until `close`. */
export class AgentConnection implements AgentSide {
  readonly #options: AgentConnectOptions;
  readonly #open: () => Duplex | null;
  readonly #pending = new PendingRequests<ControlReply>('control');
  readonly #noticeListeners: ((notice: Notice) => void)[] = [];
  readonly #connectListeners: (() => void)[] = [];
  readonly #refusedListeners: ((reason: string) => void)[] = [];
  #onCall: CallHandler = async () => null;
  #stream: FramedStream | null = null;
  #ready = false;
  #closed = false;
  #retryMs = FIRST_RETRY_MS;
  #retry: NodeJS.Timeout | undefined;

  /** When `open` returns null there is no control plane: the agent waits for the next call of `connect`. */
  constructor(options: AgentConnectOptions, open: () => Duplex | null) {
    this.#options = options;
    this.#open = open;
    this.connect();
  }

  connect(): void {
    if (this.#closed || this.#stream !== null) return;
    clearTimeout(this.#retry);
    const stream = this.#open();
    if (stream === null) return;
    const framed = new FramedStream(stream, {
      onMessage: (message) => this.#receive(message, framed),
      onEnd: (reason) => this.#lost(reason),
    });
    this.#stream = framed;
    const { agent, credential } = this.#options;
    framed.send({ agent, ...(credential && { credential }) });
  }

  async request(request: AgentRequest, timeoutMs: number): Promise<ControlReply> {
    if (this.#closed) throw new LinkError('closed', 'this link was closed');
    if (!this.#ready) throw new LinkError('disconnected', 'control is not connected');
    return this.#pending.start(timeoutMs, (id) => this.#stream?.send({ id, request }));
  }

  onCall(handler: CallHandler): void {
    this.#onCall = handler;
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
    this.#stream?.destroy('closed');
  }

  #receive(message: unknown, stream: FramedStream): void {
    const envelope: Record<string, unknown> = Object(message);
    if ('ready' in envelope) this.#becomeReady();
    else if (typeof envelope['refused'] === 'string') this.#refused(envelope['refused'], stream);
    else if ('notice' in envelope) this.#deliver(envelope['notice']);
    else if (typeof envelope['call'] === 'number')
      void this.#called(envelope['call'], envelope['request'], stream);
    else if (typeof envelope['id'] === 'number') this.#answer(envelope['id'], envelope['reply']);
    else stream.destroy('control sent an invalid message');
  }

  #becomeReady(): void {
    if (this.#ready || this.#closed) return;
    this.#ready = true;
    this.#retryMs = FIRST_RETRY_MS;
    for (const listener of this.#connectListeners) listener();
  }

  #refused(reason: string, stream: FramedStream): void {
    for (const listener of this.#refusedListeners) listener(reason.slice(0, MAX_REASON_LENGTH));
    stream.destroy('control refused this agent');
  }

  /** A notice of an unknown kind is ignored: notices are hints. */
  #deliver(value: unknown): void {
    const notice = parseNotice(value);
    if (notice.ok) for (const listener of this.#noticeListeners) listener(notice.value);
  }

  /** A call of an unknown kind gets no answer, as from an agent that is away: control does without. */
  async #called(call: number, value: unknown, stream: FramedStream): Promise<void> {
    const parsed = parseCall(value);
    const answer = parsed.ok ? await this.#onCall(parsed.value) : null;
    if (answer === null) return;
    try {
      stream.send({ call, answer });
    } catch {
      // Too large: control hears nothing, and does without.
    }
  }

  #answer(id: number, value: unknown): void {
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
    this.#stream = null;
    if (this.#closed) return;
    this.#pending.failAll(
      new LinkError('disconnected', `the connection to control ended: ${reason}`),
    );
    // With jitter, so that the agents of a host do not all reconnect at once after control restarted.
    const waitMs = this.#retryMs * (0.5 + Math.random() / 2);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
    this.#retry = setTimeout(() => this.connect(), waitMs);
  }
}
