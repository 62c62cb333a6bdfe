import type { AgentRef, AgentRequest, ControlReply, Notice } from '../messages/messages.ts';

/**
 * What a transport of link/ promises; `suite.ts` holds every one of them to it.
 *
 * - A request is answered by exactly one reply, or fails with `LinkError` within its timeout.
 *   It may have been handled all the same: requests are idempotent.
 * - Requests of one agent are handed to the handler in the order sent; replies may come in any order.
 * - Notices are hints: they may be lost or merged, never invented. Nobody hears one that is for another (`isFor`).
 * - Nothing of an agent is handled before it was admitted; one that was not learns why (`onRefused`), and asks again.
 * - An agent's side reconnects by itself, for ever, and says so through `onConnect`.
 * - A message above `MAX_MESSAGE_BYTES` is refused on the sender's side; a peer that sends
 *   rubbish is disconnected and nobody else notices.
 */
export interface ControlSide {
  /** Bounded wait for handlers under way, then every connection is closed. */
  close(): Promise<void>;
  /** How many agents it was handed to: none, and nobody will hear it; some, and they may still lose it. */
  notify(notice: Notice): number;
  /** Asks once more whether these agents are admitted, and ends the connections of those that are not any more. */
  recheck(whom: (agent: AgentRef) => boolean): void;
}

/**
 * Whether an agent is who it says, and may speak here. `credential` is what it presented; null: nothing.
 * Rejecting refuses it too, without a reason: control's log has it.
 */
export type Admit = (agent: AgentRef, credential: string | null) => Promise<Admission>;
export type Admission = { readonly ok: true } | { readonly ok: false; readonly reason: string };
export const MAX_CREDENTIAL_LENGTH = 256;

export type AgentHandler = (from: AgentRef, request: AgentRequest) => Promise<ControlReply>;

export interface AgentSide {
  request(request: AgentRequest, timeoutMs: number): Promise<ControlReply>;
  onNotice(listener: (notice: Notice) => void): void;
  /** Called at every (re)connection, also when it is there already. */
  onConnect(listener: () => void): void;
  /** Control does not let this agent in, with the reason in words. It is asked again, less and less often. */
  onRefused(listener: (reason: string) => void): void;
  close(): Promise<void>;
}

export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export class LinkError extends Error {
  readonly code: 'timeout' | 'disconnected' | 'too_large' | 'closed';
  constructor(code: LinkError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = 'LinkError';
  }
}
