import { setTimeout } from 'node:timers/promises';
import type { AgentRef, AgentRequest, ControlReply, Notice } from './messages.ts';
import { parseAgentRef, parseNotice, parseReply, parseRequest } from './parse.ts';
import { PendingRequests } from './pending.ts';
import {
  type AgentHandler,
  type AgentSide,
  type ControlSide,
  LinkError,
  MAX_MESSAGE_BYTES,
} from './transport.ts';

const CLOSE_MS = 2_000;

export interface MemoryLink {
  readonly control: ControlSide;
  connect(agent: AgentRef): AgentSide;
  /** Serves again after `control.close()`, as a restarted control would; agents reconnect. */
  serve(handler: AgentHandler): ControlSide;
}

/**
 * Both sides in one process, for tests. Messages cross as JSON and are checked on receipt as on a real
 * wire, so nothing works here that would not work there.
 */
export function createMemoryLink(handler: AgentHandler): MemoryLink {
  const hub = new Hub();
  return {
    control: hub.serve(handler),
    serve: (next) => hub.serve(next),
    connect: (agent) => {
      const checked = parseAgentRef(agent);
      if (!checked.ok) throw new Error(checked.reason);
      return new MemoryAgentSide(hub, checked.value);
    },
  };
}

class Hub {
  readonly agents = new Set<MemoryAgentSide>();
  /** Requests that have not been answered to their agent. */
  readonly underWay = new Set<Promise<void>>();
  handler: AgentHandler | null = null;

  serve(handler: AgentHandler): ControlSide {
    if (this.handler !== null) throw new Error('control is already there');
    const own: AgentHandler = (from, request) => handler(from, request);
    this.handler = own;
    for (const agent of this.agents) agent.connected();
    return {
      notify: (notice) => {
        if (this.handler === own) for (const agent of this.agents) agent.noticed(wire(notice));
      },
      close: async () => {
        if (this.handler !== own) return;
        this.handler = null;
        await Promise.race([
          Promise.all(this.underWay),
          setTimeout(CLOSE_MS, undefined, { ref: false }),
        ]);
        for (const agent of this.agents) agent.lost();
      },
    };
  }
}

class MemoryAgentSide implements AgentSide {
  readonly #hub: Hub;
  readonly #agent: AgentRef;
  readonly #pending = new PendingRequests();
  readonly #noticeListeners: ((notice: Notice) => void)[] = [];
  readonly #connectListeners: (() => void)[] = [];
  #closed = false;

  constructor(hub: Hub, agent: AgentRef) {
    this.#hub = hub;
    this.#agent = agent;
    hub.agents.add(this);
  }

  async request(request: AgentRequest, timeoutMs: number): Promise<ControlReply> {
    if (this.#closed) throw new LinkError('closed', 'this link was closed');
    const handler = this.#hub.handler;
    if (handler === null) throw new LinkError('disconnected', 'control is not connected');
    const text = wire(request);
    const { id, reply } = this.#pending.add(timeoutMs);
    const carried = this.#carry(id, handler, text);
    this.#hub.underWay.add(carried);
    void carried.then(() => this.#hub.underWay.delete(carried));
    return reply;
  }

  onNotice(listener: (notice: Notice) => void): void {
    this.#noticeListeners.push(listener);
  }

  onConnect(listener: () => void): void {
    this.#connectListeners.push(listener);
    if (this.#hub.handler !== null) queueMicrotask(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#hub.agents.delete(this);
    this.#pending.failAll(new LinkError('closed', 'this link was closed'));
  }

  connected(): void {
    for (const listener of this.#connectListeners) queueMicrotask(listener);
  }

  lost(): void {
    this.#pending.failAll(new LinkError('disconnected', 'the connection to control ended'));
  }

  noticed(text: string): void {
    const notice = parseNotice(JSON.parse(text));
    if (!notice.ok) return;
    queueMicrotask(() => {
      for (const listener of this.#noticeListeners) listener(notice.value);
    });
  }

  async #carry(id: number, handler: AgentHandler, text: string): Promise<void> {
    const request = parseRequest(JSON.parse(text));
    if (!request.ok && request.unknownKind === null) {
      this.#pending.fail(id, new LinkError('disconnected', `control hung up: ${request.reason}`));
      return;
    }
    const answer: ControlReply = request.ok
      ? await handler(this.#agent, request.value).catch(unavailable)
      : { kind: 'refused', code: 'unsupported', detail: request.reason };
    this.#answered(id, answer);
  }

  #answered(id: number, answer: ControlReply): void {
    const reply = parseReply(JSON.parse(wireOr(answer, unavailable())));
    this.#pending.answer(
      id,
      reply.ok
        ? reply.value
        : { kind: 'refused', code: 'unsupported', detail: `not understood: ${reply.reason}` },
    );
  }
}

function unavailable(): ControlReply {
  return {
    kind: 'refused',
    code: 'unavailable',
    detail: 'control failed at this request; its log says why',
  };
}

function wire(message: object): string {
  const text = JSON.stringify(message);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_MESSAGE_BYTES) {
    throw new LinkError(
      'too_large',
      `a message of ${bytes} bytes; ${MAX_MESSAGE_BYTES} is the most`,
    );
  }
  return text;
}

function wireOr(message: ControlReply, otherwise: ControlReply): string {
  try {
    return wire(message);
  } catch {
    return wire(otherwise);
  }
}
