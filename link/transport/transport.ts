import type {
  AgentAnswer,
  AgentCall,
  AgentRef,
  AgentRequest,
  AnswerTo,
  ControlReply,
  Notice,
} from '../messages/messages.ts';

/**
 * The guarantees of a transport; `testing/transport-suite.ts` tests each of them.
 *
 * - A request gets exactly one reply, or fails with `LinkError` within its timeout. A failed request may still have
 *   been handled: requests are idempotent.
 * - The handler gets the requests of one agent in the order sent; replies may come in any order.
 * - A call goes to the newest connection of one agent, and gets that connection's answer, or fails with `LinkError`:
 *   `disconnected` when there is none, `timeout` when it does not answer.
 * - Notices are hints: they may be lost. An agent receives only those that are for it (`isFor`).
 * - No request of an agent is handled before the agent is admitted. A refused agent gets the reason (`onRefused`),
 *   and tries again.
 * - The agent's side reconnects by itself until it is closed, and reports every connection (`onConnect`).
 * - The sender's side refuses a message above `MAX_MESSAGE_BYTES`. A peer that sends an invalid message is
 *   disconnected; other peers are not affected.
 */
export interface ControlSide {
  /** Waits for running handlers, but not for long, then closes every connection. */
  close(): Promise<void>;
  call<C extends AgentCall>(agent: AgentRef, call: C, timeoutMs: number): Promise<AnswerTo<C>>;
  /** To the agents that this process admitted. */
  notify(notice: Notice): void;
  /** The names of the admitted agents of a kind, each once. */
  admitted(kind: AgentRef['kind']): ReadonlySet<string>;
  /** Checks admission of these agents again, and disconnects those that are no longer admitted. */
  recheck(matches: (agent: AgentRef) => boolean): void;
}

/**
 * Decides whether an agent may connect under its name. `credential` is what it presented; null if it presented none.
 * A rejection refuses the agent too, without a reason: control's log has it.
 */
export type Admit = (agent: AgentRef, credential: string | null) => Promise<Admission>;
export type Admission = { readonly ok: true } | { readonly ok: false; readonly reason: string };
export const MAX_CREDENTIAL_LENGTH = 256;

export type AgentHandler = (from: AgentRef, request: AgentRequest) => Promise<ControlReply>;

/** Null: the agent does not answer this call, for example because its time is over. */
export type CallHandler = (call: AgentCall) => Promise<AgentAnswer | null>;

export interface AgentSide {
  request(request: AgentRequest, timeoutMs: number): Promise<ControlReply>;
  /** The one handler of control's calls. It does not reject. */
  onCall(handler: CallHandler): void;
  onNotice(listener: (notice: Notice) => void): void;
  /** The listener is called at every connection, and at once if there is one. */
  onConnect(listener: () => void): void;
  /**
   * Why control is not connected, in words, with the address that was tried; null while it is, and before the first
   * try.
   */
  readonly awayReason: string | null;
  /** The listener gets the reason in words why control refused this agent. The agent tries again, ever less often. */
  onRefused(listener: (reason: string) => void): void;
  close(): Promise<void>;
}

export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** The most bytes of one message of an agent; before control has admitted it, `MAX_GREETING_BYTES`. */
export const MAX_AGENT_BYTES: Readonly<Record<AgentRef['kind'], number>> = {
  // Thousands of refused addresses with their reasons, samples of a flood.
  edge: MAX_MESSAGE_BYTES,
  // The state of 5,000 servers.
  node: MAX_MESSAGE_BYTES,
  collector: MAX_MESSAGE_BYTES / 2,
};
export function maxBytesOf(kind: string): number {
  return Object.hasOwn(MAX_AGENT_BYTES, kind) ? MAX_AGENT_BYTES[kind as AgentRef['kind']] : 0;
}
/** A greeting holds a name and a credential. */
export const MAX_GREETING_BYTES = 4 * 1024;

export class LinkError extends Error {
  /** `disconnected`: it was not sent; `interrupted`: it was, and no answer comes. */
  readonly code: 'timeout' | 'disconnected' | 'interrupted' | 'too_large' | 'closed';
  constructor(code: LinkError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = 'LinkError';
  }
}
