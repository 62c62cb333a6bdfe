import {
  type AgentAnswer,
  type ControlReply,
  type Notice,
  parseCall,
  parseNotice,
  parseReply,
} from '../messages/messages.ts';
import type { CallHandler } from './transport.ts';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;
const MAX_REASON_LENGTH = 2_000;

/** The part that every transport's side of an agent has: its listeners, and how it takes what control sends. */
export abstract class AgentEvents {
  readonly #notices: ((notice: Notice) => void)[] = [];
  readonly #connects: (() => void)[] = [];
  readonly #refusals: ((reason: string) => void)[] = [];
  #calls: CallHandler = async () => null;
  #retryMs = FIRST_RETRY_MS;
  #awayReason: string | null = null;
  /** Admitted, and not disconnected since. */
  protected ready = false;
  protected closed = false;

  onNotice(listener: (notice: Notice) => void): void {
    this.#notices.push(listener);
  }

  onConnect(listener: () => void): void {
    this.#connects.push(listener);
    if (this.ready) queueMicrotask(listener);
  }

  onRefused(listener: (reason: string) => void): void {
    this.#refusals.push(listener);
  }

  onCall(handler: CallHandler): void {
    this.#calls = handler;
  }

  get awayReason(): string | null {
    return this.#awayReason;
  }

  protected away(reason: string): void {
    this.#awayReason = reason.slice(0, MAX_REASON_LENGTH);
  }

  protected becomeReady(): void {
    this.ready = true;
    this.#awayReason = null;
    this.#retryMs = FIRST_RETRY_MS;
    for (const listener of this.#connects) listener();
  }

  protected refused(reason: string): void {
    this.away(reason);
    for (const listener of this.#refusals) listener(reason.slice(0, MAX_REASON_LENGTH));
  }

  /** A notice of an unknown kind is ignored: notices are hints. */
  protected deliver(value: unknown): void {
    const notice = parseNotice(value);
    if (notice.ok) for (const listener of this.#notices) listener(notice.value);
  }

  /** A call of an unknown kind gets no answer, as from an agent that is away: control does without. */
  protected async answerCall(value: unknown): Promise<AgentAnswer | null> {
    const call = parseCall(value);
    return call.ok ? this.#calls(call.value) : null;
  }

  /**
   * How long to wait before the next attempt: ever longer, with jitter, so that the agents of a fleet do not all
   * reconnect at once.
   */
  protected nextRetryMs(): number {
    const waitMs = this.#retryMs * (0.5 + Math.random() / 2);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
    return waitMs;
  }
}

/** A reply that this agent does not understand counts as a refusal. */
export function readReply(value: unknown): ControlReply {
  const reply = parseReply(value);
  return reply.ok
    ? reply.value
    : { kind: 'refused', code: 'unsupported', detail: `not understood: ${reply.reason}` };
}
