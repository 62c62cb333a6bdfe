import { setTimeout as delay } from 'node:timers/promises';
import {
  type AgentRef,
  type AgentRequest,
  type ControlReply,
  isFor,
  type Notice,
  parseAgentRef,
  parseNotice,
  parseReply,
  parseRequest,
} from '../messages/messages.ts';
import { PendingRequests } from './pending-requests.ts';
import {
  type Admission,
  type Admit,
  type AgentHandler,
  type AgentSide,
  type ControlSide,
  LinkError,
  MAX_MESSAGE_BYTES,
} from './transport.ts';

const CLOSE_MS = 2_000;

export interface MemoryLink {
  readonly control: ControlSide;
  connect(agent: AgentRef, credential?: string): AgentSide;
  /** Serves again after `control.close()`, as a restarted control would; agents reconnect. */
  serve(handler: AgentHandler, admit?: Admit): ControlSide;
}

/**
 * Both sides in one process, for tests. Messages cross as JSON and are checked on receipt as on a real
 * wire, so nothing works here that would not work there.
 */
export function createMemoryLink(handler: AgentHandler, admit: Admit | null = null): MemoryLink {
  const hub = new Hub();
  return {
    control: hub.serve(handler, admit),
    serve: (next, nextAdmit) => hub.serve(next, nextAdmit ?? null),
    connect: (agent, credential) => {
      const checked = parseAgentRef(agent);
      if (!checked.ok) throw new Error(checked.reason);
      return new MemoryAgentSide(hub, checked.value, credential ?? null);
    },
  };
}

const KNOCK_AGAIN_MS = 50;

interface Served {
  readonly handler: AgentHandler;
  /** null: everybody is let in, at once. */
  readonly admit: Admit | null;
}

class Hub {
  readonly agents = new Set<MemoryAgentSide>();
  /** Requests that have not been answered to their agent. */
  readonly underWay = new Set<Promise<void>>();
  served: Served | null = null;

  serve(handler: AgentHandler, admit: Admit | null): ControlSide {
    if (this.served !== null) throw new Error('control is already there');
    const own: Served = { handler, admit };
    this.served = own;
    for (const agent of this.agents) void agent.knock();
    return {
      notify: (notice) => {
        if (this.served !== own) return 0;
        return [...this.agents].filter((agent) => agent.noticed(own, notice)).length;
      },
      recheck: (whom) => {
        if (this.served !== own) return;
        for (const agent of this.agents) if (whom(agent.ref)) void agent.recheck(own);
      },
      close: async () => {
        if (this.served !== own) return;
        this.served = null;
        await Promise.race([
          Promise.all(this.underWay),
          delay(CLOSE_MS, undefined, { ref: false }),
        ]);
        for (const agent of this.agents) agent.lost();
      },
    };
  }
}

class MemoryAgentSide implements AgentSide {
  readonly ref: AgentRef;
  readonly #hub: Hub;
  readonly #credential: string | null;
  readonly #pending = new PendingRequests();
  readonly #noticeListeners: ((notice: Notice) => void)[] = [];
  readonly #connectListeners: (() => void)[] = [];
  readonly #refusedListeners: ((reason: string) => void)[] = [];
  /** The control that let this agent in. */
  #admittedBy: Served | null = null;
  #closed = false;
  #again: NodeJS.Timeout | undefined;

  constructor(hub: Hub, ref: AgentRef, credential: string | null) {
    this.#hub = hub;
    this.ref = ref;
    this.#credential = credential;
    hub.agents.add(this);
    void this.knock();
  }

  async request(request: AgentRequest, timeoutMs: number): Promise<ControlReply> {
    if (this.#closed) throw new LinkError('closed', 'this link was closed');
    const served = this.#admittedBy;
    if (served === null) throw new LinkError('disconnected', 'control is not connected');
    const text = wire(request);
    const { id, reply } = this.#pending.add(timeoutMs);
    const carried = this.#carry(id, served.handler, text);
    this.#hub.underWay.add(carried);
    void carried.then(() => this.#hub.underWay.delete(carried));
    return reply;
  }

  onNotice(listener: (notice: Notice) => void): void {
    this.#noticeListeners.push(listener);
  }

  onConnect(listener: () => void): void {
    this.#connectListeners.push(listener);
    if (this.#admittedBy !== null) queueMicrotask(listener);
  }

  onRefused(listener: (reason: string) => void): void {
    this.#refusedListeners.push(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#again);
    this.#hub.agents.delete(this);
    this.#pending.failAll(new LinkError('closed', 'this link was closed'));
  }

  /** Asks whoever serves now to be let in. */
  async knock(): Promise<void> {
    clearTimeout(this.#again);
    const served = this.#hub.served;
    if (served === null) return;
    if (served.admit === null) {
      this.#letIn(served);
      return;
    }
    const admission = await this.#askAdmission(served);
    if (this.#closed || served !== this.#hub.served || this.#admittedBy === served) return;
    if (admission.ok) {
      this.#letIn(served);
      return;
    }
    for (const listener of this.#refusedListeners) listener(admission.reason);
    this.#again = setTimeout(() => void this.knock(), KNOCK_AGAIN_MS);
  }

  async recheck(served: Served): Promise<void> {
    const admission = await this.#askAdmission(served);
    if (admission.ok || this.#admittedBy !== served) return;
    this.lost();
    await this.knock();
  }

  async #askAdmission({ admit }: Served): Promise<Admission> {
    if (admit === null) return { ok: true };
    return admit(this.ref, this.#credential).catch(() => ({
      ok: false,
      reason: 'Control failed at this; its log says why.',
    }));
  }

  #letIn(served: Served): void {
    this.#admittedBy = served;
    for (const listener of this.#connectListeners) queueMicrotask(listener);
  }

  lost(): void {
    this.#admittedBy = null;
    this.#pending.failAll(new LinkError('disconnected', 'the connection to control ended'));
  }

  /** Whether it was handed over. */
  noticed(by: Served, sent: Notice): boolean {
    if (this.#admittedBy !== by || !isFor(sent, this.ref)) return false;
    const notice = parseNotice(JSON.parse(wire(sent)));
    if (!notice.ok) return true;
    queueMicrotask(() => {
      for (const listener of this.#noticeListeners) listener(notice.value);
    });
    return true;
  }

  async #carry(id: number, handler: AgentHandler, text: string): Promise<void> {
    const request = parseRequest(this.ref.kind, JSON.parse(text));
    if (!request.ok && request.unknownKind === null) {
      this.#pending.fail(id, new LinkError('disconnected', `control hung up: ${request.reason}`));
      return;
    }
    const answer: ControlReply = request.ok
      ? await handler(this.ref, request.value).catch(unavailable)
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
