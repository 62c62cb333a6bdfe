import type { Duplex } from 'node:stream';
import type { AgentRef, AgentRequest, ControlReply } from '../messages/messages.ts';
import { AgentEvents, readReply } from './agent-events.ts';
import { FramedStream } from './framed-stream.ts';
import { PendingRequests } from './pending-requests.ts';
import { type AgentSide, LinkError, MAX_AGENT_BYTES } from './transport.ts';

export interface AgentConnectOptions {
  readonly agent: AgentRef;
  /** Presented at every connection, for a control plane that requires one. */
  readonly credential?: string;
  /** Where control is tried, for messages. */
  readonly where?: string;
}

/** Connects to control over the streams of `open`, again and again until `close`. */
export class AgentConnection extends AgentEvents implements AgentSide {
  readonly #options: AgentConnectOptions;
  readonly #open: () => Duplex | null;
  readonly #pending = new PendingRequests<ControlReply>('control');
  #stream: FramedStream | null = null;
  #retry: NodeJS.Timeout | undefined;
  /** Refused by control, on the present stream: that reason stays. */
  #isRefused = false;

  /** When `open` returns null there is no control plane: the agent waits for the next call of `connect`. */
  constructor(options: AgentConnectOptions, open: () => Duplex | null) {
    super();
    this.#options = options;
    this.#open = open;
    this.connect();
  }

  connect(): void {
    if (this.closed || this.#stream !== null) return;
    clearTimeout(this.#retry);
    const stream = this.#open();
    if (stream === null) return;
    const framed = new FramedStream(stream, {
      onMessage: (message) => this.#receive(message, framed),
      onEnd: (reason) => this.#lost(reason),
    });
    this.#stream = framed;
    this.#isRefused = false;
    const { agent, credential } = this.#options;
    framed.send({ agent, ...(credential && { credential }) });
  }

  async request(request: AgentRequest, timeoutMs: number): Promise<ControlReply> {
    if (this.closed) throw new LinkError('closed', 'this link was closed');
    if (!this.ready) throw new LinkError('disconnected', 'control is not connected');
    return this.#pending.start(timeoutMs, (id) =>
      this.#stream?.send({ id, request }, MAX_AGENT_BYTES[this.#options.agent.kind]),
    );
  }

  async close(): Promise<void> {
    this.closed = true;
    this.ready = false;
    clearTimeout(this.#retry);
    this.#pending.failAll(new LinkError('closed', 'this link was closed'));
    this.#stream?.destroy('closed');
  }

  #receive(message: unknown, stream: FramedStream): void {
    const envelope: Record<string, unknown> = Object(message);
    const { id, call, refused } = envelope;
    if ('ready' in envelope) {
      if (!this.ready && !this.closed) this.becomeReady();
    } else if (typeof refused === 'string') {
      this.#isRefused = true;
      this.refused(refused);
      stream.destroy('control refused this agent');
    } else if ('notice' in envelope) this.deliver(envelope['notice']);
    else if (typeof call === 'number') void this.#called(call, envelope['request'], stream);
    else if (typeof id === 'number') this.#pending.answer(id, readReply(envelope['reply']));
    else stream.destroy('control sent an invalid message');
  }

  async #called(call: number, value: unknown, stream: FramedStream): Promise<void> {
    const answer = await this.answerCall(value);
    if (answer === null) return;
    try {
      stream.send({ call, answer });
    } catch {
      // Too large: control hears nothing, and does without.
    }
  }

  #lost(reason: string): void {
    const { where = '' } = this.#options;
    if (this.ready || !this.#isRefused)
      this.away(reason.includes(where) ? reason : `${where}: ${reason}`);
    this.ready = false;
    this.#stream = null;
    if (this.closed) return;
    this.#pending.failAll(
      new LinkError('disconnected', `the connection to control ended: ${reason}`),
    );
    this.#retry = setTimeout(() => this.connect(), this.nextRetryMs());
  }
}
