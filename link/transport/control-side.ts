import type { Duplex } from 'node:stream';
import {
  type AgentCall,
  type AgentRef,
  type AnswerTo,
  isFor,
  type Notice,
  parseAgentRef,
  parseAnswer,
} from '../messages/messages.ts';
import { anyObject, check } from '../messages/schema.ts';
import { Limiter } from '../limiter.ts';
import { FramedStream } from './framed-stream.ts';
import { PendingConnections, type PeerUid } from './pending-connections.ts';
import { PendingRequests } from './pending-requests.ts';
import {
  CLOSE_TIMEOUT_MS,
  MAX_PER_AGENT,
  readCredential,
  requestAdmission,
  type ServeOptions,
  startRequest,
} from './handling.ts';
import {
  type Admission,
  type ControlSide,
  LinkError,
  MAX_AGENT_BYTES,
  MAX_GREETING_BYTES,
} from './transport.ts';

const MAX_PENDING = 256;
/** Greetings whose credential is checked at the same time: anybody on the host may greet, and each is a query. */
const MAX_ADMISSIONS = 2;
const GREETING_TIMEOUT_MS = 5_000;
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Control's side of every connection. */
export class AgentConnections implements ControlSide {
  readonly #options: ServeOptions;
  readonly #connections = new Set<ServedAgent>();
  readonly #admissions = new Limiter(MAX_ADMISSIONS);
  readonly #pending = new PendingConnections<ServedAgent>([0, process.getuid?.() ?? null]);

  constructor(options: ServeOptions) {
    this.#options = options;
  }

  /** `peer` is the account at the other end; by default that of this process. */
  accept(stream: Duplex, peer: PeerUid = process.getuid?.() ?? null): void {
    let onAdmittedGone = (): void => {};
    const admit = (): void => {
      onAdmittedGone = this.#pending.admit(connection);
    };
    const connection = new ServedAgent(stream, this.#options, {
      admissions: this.#admissions,
      onHttpAdmitted: admit,
      onAdmitted: (agent) => {
        admit();
        this.#closeOldest(agent);
      },
      onGone: () => {
        this.#connections.delete(connection);
        this.#pending.remove(connection);
        onAdmittedGone();
      },
    });
    this.#connections.add(connection);
    this.#pending.add(connection, peer)?.destroy('too many connections without admission');
  }

  /** Oldest first. */
  #of({ kind, name }: AgentRef): ServedAgent[] {
    return [...this.#connections].filter(
      ({ agent }) => agent?.kind === kind && agent.name === name,
    );
  }

  #closeOldest(agent: AgentRef): void {
    const own = this.#of(agent);
    if (own.length > MAX_PER_AGENT) own[0]?.destroy('the agent has newer connections');
  }

  async call<C extends AgentCall>(
    agent: AgentRef,
    call: C,
    timeoutMs: number,
  ): Promise<AnswerTo<C>> {
    const newest = this.#of(agent).at(-1);
    if (newest === undefined) throw new LinkError('disconnected', `${agent.name} is not connected`);
    return newest.call(call, timeoutMs);
  }

  notify(notice: Notice): void {
    for (const connection of this.#connections) connection.notify(notice);
  }

  admitted(kind: AgentRef['kind']): ReadonlySet<string> {
    const agents = [...this.#connections].map(({ agent }) => agent);
    return new Set(agents.flatMap((agent) => (agent?.kind === kind ? [agent.name] : [])));
  }

  recheck(matches: (agent: AgentRef) => boolean): void {
    for (const connection of this.#connections) connection.recheck(matches);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.close()));
  }
}

/** Everything that a connection needs of its transport. */
interface Surroundings {
  readonly admissions: Limiter;
  readonly onAdmitted: (agent: AgentRef) => void;
  readonly onHttpAdmitted: () => void;
  readonly onGone: () => void;
}

/** The first bytes of a request: as the length of a message they would be far above any limit. */
const HTTP = /^(?:GET |POST )/;
const GONE: Admission = { ok: false, reason: 'The connection has ended.' };

/** One connection: greeting, admission, then requests and calls. */
class ServedAgent {
  readonly #options: ServeOptions;
  readonly #stream: FramedStream;
  readonly #greetingTimer: NodeJS.Timeout;
  /** The agent as the greeting names it. */
  #greeted: AgentRef | null = null;
  #credential: string | null = null;
  /** The same once it is admitted. */
  #agent: AgentRef | null = null;
  #refused = false;
  readonly #calls = new PendingRequests<unknown>('the agent');
  #pending = 0;
  #onIdle: (() => void) | null = null;

  readonly #admissions: Limiter;
  readonly #onAdmitted: (agent: AgentRef) => void;

  constructor(
    stream: Duplex,
    options: ServeOptions,
    { admissions, onAdmitted, onHttpAdmitted, onGone }: Surroundings,
  ) {
    this.#admissions = admissions;
    this.#options = options;
    this.#onAdmitted = onAdmitted;
    const onEnd = (reason: string): void => {
      this.#refused = true;
      clearTimeout(this.#greetingTimer);
      this.#calls.failAll(new LinkError('interrupted', `the agent's connection ended: ${reason}`));
      onGone();
    };
    const isTaken = (head: Buffer): boolean => {
      if (options.onHttp === undefined || !HTTP.test(head.toString('latin1', 0, 5))) return false;
      options.onHttp(stream, () => {
        clearTimeout(this.#greetingTimer);
        onHttpAdmitted();
      });
      return true;
    };
    this.#stream = new FramedStream(
      stream,
      { onMessage: (message) => this.#receive(message), onEnd, isTaken },
      MAX_GREETING_BYTES,
    );
    this.#greetingTimer = setTimeout(
      () => this.#stream.destroy('no greeting'),
      GREETING_TIMEOUT_MS,
    );
  }

  /** Null until it is admitted. */
  get agent(): AgentRef | null {
    return this.#agent;
  }

  destroy(reason: string): void {
    this.#refused = true;
    this.#stream.destroy(reason);
  }

  /** An invalid answer ends the connection, as an invalid request does. */
  async call<C extends AgentCall>(call: C, timeoutMs: number): Promise<AnswerTo<C>> {
    if (!this.#reads) throw new LinkError('disconnected', 'the agent does not read');
    const answer = parseAnswer<C>(
      call,
      await this.#calls.start(timeoutMs, (id) => this.#stream.send({ call: id, request: call })),
    );
    if (answer.ok) return answer.value;
    this.#stream.destroy(answer.reason);
    throw new LinkError('interrupted', `the agent gave an invalid answer: ${answer.reason}`);
  }

  /** Messages to an agent that does not read would accumulate. */
  get #reads(): boolean {
    return this.#stream.unsentBytes <= MAX_UNREAD_BYTES;
  }

  notify(notice: Notice): void {
    if (this.#agent === null || !isFor(notice, this.#agent) || !this.#reads) return;
    this.#stream.send({ notice });
  }

  /** Includes an agent whose admission is pending: its credential may have been replaced meanwhile. */
  recheck(matches: (agent: AgentRef) => boolean): void {
    const agent = this.#greeted;
    if (agent === null || !matches(agent)) return;
    void requestAdmission(this.#options, agent, this.#credential).then((admission) => {
      if (!admission.ok) this.#refuse(admission.reason);
    });
  }

  async close(): Promise<void> {
    this.#stream.pause();
    if (this.#pending > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      await promise;
      clearTimeout(timer);
    }
    await this.#stream.end();
  }

  #receive(message: unknown): void {
    const checked = check(anyObject, message);
    const envelope = checked.ok ? checked.value : {};
    if (this.#agent === null) this.#greet(envelope);
    else if (typeof envelope['call'] === 'number')
      this.#calls.answer(envelope['call'], envelope['answer']);
    else this.#take(this.#agent, envelope);
  }

  #greet(envelope: Record<string, unknown>): void {
    const agent = parseAgentRef(envelope['agent']);
    const credential = readCredential(envelope['credential']);
    if (!agent.ok || credential === undefined || this.#greeted !== null) {
      this.#stream.destroy(agent.ok ? 'no credential' : agent.reason);
      return;
    }
    this.#greeted = agent.value;
    this.#credential = credential;
    // Nothing more is read before the agent is admitted.
    this.#stream.pause();
    void this.#admit(agent.value, credential);
  }

  async #admit(agent: AgentRef, credential: string | null): Promise<void> {
    const admission = await this.#admissions.run(async () =>
      this.#refused ? GONE : requestAdmission(this.#options, agent, credential),
    );
    clearTimeout(this.#greetingTimer);
    if (!admission.ok) {
      this.#refuse(admission.reason);
      return;
    }
    if (this.#refused) return;
    this.#agent = agent;
    this.#stream.allow(MAX_AGENT_BYTES[agent.kind]);
    this.#onAdmitted(agent);
    this.#stream.send({ ready: true });
    this.#stream.resume();
  }

  /** Sends the reason and closes; no further request of the agent is handled. */
  #refuse(reason: string): void {
    if (this.#refused) return;
    this.#refused = true;
    this.#agent = null;
    this.#stream.pause();
    this.#stream.send({ refused: reason });
    void this.#stream.end();
  }

  #take(agent: AgentRef, envelope: Record<string, unknown>): void {
    const id = envelope['id'];
    if (typeof id !== 'number') {
      this.#stream.destroy('a request without an id');
      return;
    }
    const started = startRequest(this.#options, agent, envelope['request'], (reply) => {
      if (!this.#refused) this.#stream.send({ id, reply });
    });
    if ('invalid' in started) {
      this.#stream.destroy(started.invalid);
      return;
    }
    this.#pending += 1;
    if (this.#pending >= MAX_PENDING) this.#stream.pause();
    void started.ended.then(() => {
      this.#pending -= 1;
      if (this.#onIdle === null && !this.#refused) this.#stream.resume();
      else if (this.#pending === 0) this.#onIdle?.();
    });
  }
}
