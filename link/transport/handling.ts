import type { Duplex } from 'node:stream';
import { type AgentRef, type ControlReply, parseRequest } from '../messages/messages.ts';
import {
  type Admission,
  type Admit,
  type AgentHandler,
  MAX_CREDENTIAL_LENGTH,
} from './transport.ts';

export interface ServeOptions {
  readonly handler: AgentHandler;
  /** The check of agents: without it every agent that can connect is admitted. */
  readonly admit?: Admit;
  /** Called when a handler threw or a reply was too large; the agent receives `unavailable`. */
  readonly onError?: (error: unknown) => void;
  /**
   * Takes a connection that begins with a request of HTTP. It counts among those that are not admitted, and ends with them,
   * until `admitted` is called.
   */
  readonly onHttp?: (stream: Duplex, admitted: () => void) => void;
}

/** The newest connections of one agent that are served: it has one, and for a moment its next one too. */
export const MAX_PER_AGENT = 4;
/** How long a closing control waits for running handlers. */
export const CLOSE_TIMEOUT_MS = 2_000;

const UNAVAILABLE: ControlReply = {
  kind: 'refused',
  code: 'unavailable',
  detail: 'control failed at this request; its log says why',
};

/**
 * Starts the handler of a request at once, so that those of one agent start in the order sent, and passes its reply to
 * `send`. Returns null, or why the request is invalid.
 */
export function startRequest(
  { handler, onError }: ServeOptions,
  agent: AgentRef,
  value: unknown,
  send: (reply: ControlReply) => void,
): { readonly ended: Promise<void> } | { readonly invalid: string } {
  const request = parseRequest(agent.kind, value);
  if (!request.ok && request.unknownKind === null) return { invalid: request.reason };
  const answer = async (): Promise<void> => {
    try {
      send(
        request.ok
          ? await handler(agent, request.value)
          : { kind: 'refused', code: 'unsupported', detail: request.reason },
      );
    } catch (error) {
      onError?.(error);
      send(UNAVAILABLE);
    }
  };
  return { ended: answer() };
}

/** The credential of a greeting; undefined if it is none. */
export function readCredential(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' && value.length <= MAX_CREDENTIAL_LENGTH ? value : undefined;
}

export async function requestAdmission(
  { admit, onError }: ServeOptions,
  agent: AgentRef,
  credential: string | null,
): Promise<Admission> {
  try {
    return (await admit?.(agent, credential)) ?? { ok: true };
  } catch (error) {
    onError?.(error);
    return { ok: false, reason: 'Control failed at this; its log says why.' };
  }
}
