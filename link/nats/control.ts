import {
  type NatsConnection,
  RequestError,
  type Subscription,
  TimeoutError,
} from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import {
  type AgentCall,
  type AgentRef,
  type AnswerTo,
  audienceOf,
  type ControlReply,
  type Notice,
  parseAgentRef,
  parseAnswer,
} from '../messages/messages.ts';
import {
  CLOSE_TIMEOUT_MS,
  MAX_PER_AGENT,
  requestAdmission,
  type ServeOptions,
  startRequest,
} from '../transport/handling.ts';
import {
  type ControlSide,
  LinkError,
  MAX_GREETING_BYTES,
  maxBytesOf,
} from '../transport/transport.ts';
import type { Static } from '../messages/schema.ts';
import { decode, encode } from './connection.ts';
import { GREETING, REQUEST } from './envelopes.ts';
import {
  agentOf,
  CONTROL_QUEUE,
  GREETINGS,
  isOwnInbox,
  requestsOf,
  subjectsOf,
} from './subjects.ts';
import { type Listener, listen } from './subscription.ts';

/** Requests of one session that are handled at the same time; further ones are refused. */
const MAX_PENDING = 2_000;
const FLUSH_MS = 200;
/**
 * Messages of one agent that are looked at in a window; the rest is dropped unread. An agent waits for answers, so it
 * sends far fewer. Whoever sends more would keep control from reading what others send, which stands behind it.
 */
const MAX_IN_WINDOW = 4_000;
const WINDOW_MS = 1_000;

/** Answers one message of an agent. Throws `LinkError` `too_large`. Does nothing once control has closed. */
type Respond = (envelope: object) => void;

/** An agent's process that this replica admitted, or is about to. */
interface Session {
  readonly id: string;
  readonly agent: AgentRef;
  readonly credential: string | null;
  state: 'pending' | 'admitted' | 'ended';
  pending: number;
}

/** One replica of control on a connection to NATS. */
export class NatsControl implements ControlSide {
  readonly #connection: NatsConnection;
  readonly #options: ServeOptions;
  readonly #replica = randomUUID();
  /** Sessions by the id that the agent's process chose; those admitted last come last. */
  readonly #sessions = new Map<string, Session>();
  readonly #subscriptions: readonly Subscription[];
  readonly #running = new Set<Promise<void>>();
  /** Messages by the subjects of an agent: its messages in the window. */
  readonly #messages = new Map<string, number>();
  #windowEndMs = 0;
  #isConnected = true;

  constructor(connection: NatsConnection, options: ServeOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#subscriptions = [
      this.#listen(
        {
          subject: GREETINGS,
          queue: CONTROL_QUEUE,
          schema: GREETING,
          maxBytes: () => MAX_GREETING_BYTES,
        },
        (...greeting) => this.#greeted(...greeting),
      ),
      this.#listen(
        {
          subject: requestsOf(this.#replica),
          schema: REQUEST,
          maxBytes: (subject) => maxBytesOf(agentOf(subject).kind),
        },
        (...request) => this.#requested(...request),
      ),
    ];
    void this.#watch();
  }

  /**
   * Takes messages of agents. What asks for its answer anywhere but below the own inbox of the agent that sent it is not
   * handled: by the reply to its request, an agent could say something in control's name.
   */
  #listen<T>(
    listener: Omit<Listener<T>, 'take' | 'onError' | 'isTooMany'>,
    take: (from: AgentRef, envelope: T, respond: Respond) => void | Promise<void>,
  ): Subscription {
    return listen(this.#connection, {
      ...listener,
      isTooMany: (subject) => this.#isTooMany(subject),
      onError: this.#options.onError,
      take: (envelope, message) => {
        const agent = parseAgentRef(agentOf(message.subject));
        const { reply } = message;
        if (!agent.ok || !isOwnInbox(agent.value, reply)) return;
        return take(agent.value, envelope, (answer) => {
          const body = encode(answer);
          if (!this.#connection.isClosed()) this.#connection.publish(reply, body);
        });
      },
    });
  }

  #isTooMany(subject: string): boolean {
    const nowMs = performance.now();
    if (nowMs >= this.#windowEndMs) {
      this.#messages.clear();
      this.#windowEndMs = nowMs + WINDOW_MS;
    }
    const { kind, name } = agentOf(subject);
    const count = (this.#messages.get(`${kind}/${name}`) ?? 0) + 1;
    this.#messages.set(`${kind}/${name}`, count);
    return count > MAX_IN_WINDOW;
  }

  async call<C extends AgentCall>(
    agent: AgentRef,
    call: C,
    timeoutMs: number,
  ): Promise<AnswerTo<C>> {
    // Another connection of the agent, which may not have heard yet that it is not the newest, leaves it unanswered.
    const newest = this.#of(agent).at(-1)?.id;
    const body = encode({ request: call, connection: newest });
    if (!this.#isConnected) throw new LinkError('disconnected', 'NATS is not connected');
    const { call: subject } = subjectsOf(agent);
    try {
      const { data } = await this.#connection.request(subject, body, { timeout: timeoutMs });
      const answer = parseAnswer<C>(call, decode(data)['answer']);
      if (answer.ok) return answer.value;
      for (const session of this.#of(agent)) this.#end(session);
      throw new LinkError('interrupted', `${agent.name} gave an invalid answer: ${answer.reason}`);
    } catch (error) {
      throw callFailure(error, agent.name, timeoutMs);
    }
  }

  notify(notice: Notice): void {
    const { kinds, names } = audienceOf(notice);
    const body = encode({ notice });
    for (const kind of kinds) {
      for (const name of names ?? this.admitted(kind)) {
        this.#publish(subjectsOf({ kind, name }).notice, body);
      }
    }
  }

  admitted(kind: AgentRef['kind']): ReadonlySet<string> {
    const sessions = [...this.#sessions.values()];
    const admitted = sessions.filter(
      ({ agent, state }) => agent.kind === kind && state === 'admitted',
    );
    return new Set(admitted.map(({ agent }) => agent.name));
  }

  recheck(matches: (agent: AgentRef) => boolean): void {
    for (const session of this.#sessions.values()) {
      if (!matches(session.agent)) continue;
      void requestAdmission(this.#options, session.agent, session.credential).then((admission) => {
        if (!admission.ok) this.#end(session, admission.reason);
      });
    }
  }

  async close(): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    await within(CLOSE_TIMEOUT_MS, Promise.all(this.#running));
    for (const session of this.#sessions.values()) this.#end(session);
    // Without a server there is nothing to wait for.
    await within(FLUSH_MS, this.#connection.flush());
    await this.#connection.close();
  }

  async #greeted(
    agent: AgentRef,
    { connection: id, credential = null }: Static<typeof GREETING>,
    respond: Respond,
  ): Promise<void> {
    const session: Session = { id, agent, credential, state: 'pending', pending: 0 };
    const other = this.#sessions.get(id);
    // An id is known to its own agent only.
    if (other !== undefined && !isSame(other.agent, agent)) return;
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    const admission = await requestAdmission(this.#options, agent, credential);
    if (!admission.ok || session.state === 'ended') {
      // A newer greeting of the same process may have replaced it.
      if (this.#sessions.get(id) === session) this.#sessions.delete(id);
      const refused = admission.ok ? 'The credential was replaced.' : admission.reason;
      respond({ refused });
      return;
    }
    session.state = 'admitted';
    const own = this.#of(agent);
    if (own.length > MAX_PER_AGENT && own[0] !== undefined) this.#end(own[0]);
    this.#publish(subjectsOf(agent).session, encode({ newest: id }));
    respond({ replica: this.#replica });
  }

  /** Oldest first. */
  #of(agent: AgentRef): Session[] {
    return [...this.#sessions.values()].filter((session) => isSame(session.agent, agent));
  }

  #requested(
    agent: AgentRef,
    { connection: id, request }: Static<typeof REQUEST>,
    respond: Respond,
  ): void {
    const session = this.#sessions.get(id);
    if (session?.state !== 'admitted' || !isSame(session.agent, agent)) {
      respond({ ended: 'control does not know this session' });
      return;
    }
    if (session.pending >= MAX_PENDING) {
      const detail = 'This agent has too many unanswered requests.';
      respond({ reply: { kind: 'refused', code: 'unavailable', detail } });
      return;
    }
    const send = (reply: ControlReply): void => {
      if (session.state === 'admitted') respond({ reply });
    };
    const started = startRequest(this.#options, agent, request, send);
    if ('invalid' in started) {
      this.#end(session);
      respond({ ended: started.invalid });
      return;
    }
    session.pending += 1;
    const running = started.ended.finally(() => {
      session.pending -= 1;
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  /** No further request of the session is handled. `refused` is why the agent is not admitted any more. */
  #end(session: Session, refused?: string): void {
    if (session.state === 'ended') return;
    session.state = 'ended';
    this.#sessions.delete(session.id);
    this.#publish(
      subjectsOf(session.agent).session,
      encode({ ended: session.id, ...(refused !== undefined && { refused }) }),
    );
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'reconnect') this.#isConnected = true;
      else if (type === 'disconnect') this.#isConnected = false;
    }
  }

  /**
   * Publishes a message: what cannot be sent is lost, as notices may be: the library would keep it in memory until a
   * server is back.
   */
  #publish(subject: string, body: Buffer): void {
    if (this.#isConnected && !this.#connection.isClosed()) this.#connection.publish(subject, body);
  }
}

async function within(ms: number, done: Promise<unknown>): Promise<void> {
  const timer = Promise.withResolvers<void>();
  const timeout = setTimeout(timer.resolve, ms);
  await Promise.race([done.catch(() => {}), timer.promise]);
  clearTimeout(timeout);
}

function isSame(a: AgentRef, b: AgentRef): boolean {
  return a.kind === b.kind && a.name === b.name;
}

function callFailure(error: unknown, name: string, timeoutMs: number): unknown {
  if (error instanceof RequestError && error.isNoResponders()) {
    return new LinkError('disconnected', `${name} is not connected`, { cause: error });
  }
  if (error instanceof TimeoutError) {
    return new LinkError('timeout', `${name} did not answer within ${timeoutMs} ms`, {
      cause: error,
    });
  }
  if (error instanceof LinkError) return error;
  return new LinkError('disconnected', 'NATS is not connected', { cause: error });
}
