import {
  type Msg,
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
  readCredential,
  requestAdmission,
  type ServeOptions,
  startRequest,
} from '../transport/handling.ts';
import { type ControlSide, LinkError } from '../transport/transport.ts';
import type { ReplicaRelay, TakeSamples, Usage } from '../transport/relay.ts';
import type { WatchSamples } from '../messages/attacks.ts';
import { decode, encode } from './connection.ts';
import {
  agentOf,
  CONTROL_CLOSED,
  CONTROL_QUEUE,
  CONTROL_SAMPLES,
  CONTROL_USAGE,
  GREETINGS,
  requestsOf,
  subjectsOf,
} from './subjects.ts';

/** Requests of one session that are handled at the same time; further ones are refused. */
const MAX_PENDING = 2_000;
const MAX_ID_LENGTH = 64;
const FLUSH_MS = 200;
const SAMPLES_TIMEOUT_MS = 1_000;

/** An agent's process that this replica admitted, or is about to. */
interface Session {
  readonly id: string;
  readonly agent: AgentRef;
  readonly credential: string | null;
  state: 'pending' | 'admitted' | 'ended';
  pending: number;
}

/** One replica of control on a connection to NATS. */
export class NatsControl implements ControlSide, ReplicaRelay {
  readonly #connection: NatsConnection;
  readonly #options: ServeOptions;
  readonly #replica = randomUUID();
  /** By the id that the agent's process chose; those admitted last come last. */
  readonly #sessions = new Map<string, Session>();
  readonly #subscriptions: readonly Subscription[];
  readonly #running = new Set<Promise<void>>();
  #isConnected = true;
  #samples: Subscription | null = null;
  #onUsage: (usage: Usage) => void = () => {};

  constructor(connection: NatsConnection, options: ServeOptions) {
    this.#connection = connection;
    this.#options = options;
    const listen = (subject: string, take: (message: Msg) => void, queue?: string): Subscription =>
      connection.subscribe(subject, {
        ...(queue !== undefined && { queue }),
        callback: (error, message) => {
          if (error === null) take(message);
        },
      });
    this.#subscriptions = [
      listen(GREETINGS, (message) => void this.#greeted(message), CONTROL_QUEUE),
      listen(requestsOf(this.#replica), (message) => this.#requested(message)),
      listen(CONTROL_USAGE, ({ data }) => {
        const { replica, usage } = decode(data);
        // Only control may send on this subject.
        if (replica !== this.#replica) this.#onUsage(usage as Usage);
      }),
    ];
    void this.#watch();
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
      throw new LinkError('disconnected', `${agent.name} gave an invalid answer: ${answer.reason}`);
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

  async pass(from: AgentRef, message: WatchSamples): Promise<boolean> {
    if (!this.#isConnected) return false;
    const timeout = SAMPLES_TIMEOUT_MS;
    const body = encode({ from, message });
    return this.#connection.request(CONTROL_SAMPLES, body, { timeout }).then(
      () => true,
      () => false,
    );
  }

  serve(take: TakeSamples | null): void {
    this.#samples?.unsubscribe();
    this.#samples = null;
    if (take === null) return;
    this.#samples = this.#connection.subscribe(CONTROL_SAMPLES, {
      callback: (error, message) => {
        if (error !== null) return;
        // Only control may send on this subject, and a replica checked the message when the agent sent it.
        const sent = decode(message.data) as {
          readonly from: AgentRef;
          readonly message: WatchSamples;
        };
        take(sent.from, sent.message);
        message.respond();
      },
    });
  }

  publishUsage(usage: Usage): void {
    this.#publish(CONTROL_USAGE, encode({ replica: this.#replica, usage }));
  }

  onUsage(listener: (usage: Usage) => void): void {
    this.#onUsage = listener;
  }

  async close(): Promise<void> {
    this.serve(null);
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    await within(CLOSE_TIMEOUT_MS, Promise.all(this.#running));
    this.#publish(CONTROL_CLOSED, encode({ replica: this.#replica }));
    // Without a server there is nothing to wait for.
    await within(FLUSH_MS, this.#connection.flush());
    await this.#connection.close();
  }

  async #greeted(message: Msg): Promise<void> {
    const agent = parseAgentRef(agentOf(message.subject));
    const { connection: id, credential: presented } = decode(message.data);
    const credential = readCredential(presented);
    if (!agent.ok || credential === undefined || typeof id !== 'string') return;
    if (id.length > MAX_ID_LENGTH) return;
    const session: Session = { id, agent: agent.value, credential, state: 'pending', pending: 0 };
    const other = this.#sessions.get(id);
    // An id is known to its own agent only.
    if (other !== undefined && !isSame(other.agent, agent.value)) return;
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    const admission = await requestAdmission(this.#options, agent.value, credential);
    if (!admission.ok || session.state === 'ended') {
      this.#sessions.delete(id);
      const refused = admission.ok ? 'The credential was replaced.' : admission.reason;
      this.#respond(message, { refused });
      return;
    }
    session.state = 'admitted';
    const own = this.#of(agent.value);
    if (own.length > MAX_PER_AGENT && own[0] !== undefined) this.#end(own[0]);
    this.#publish(subjectsOf(agent.value).session, encode({ newest: id }));
    this.#respond(message, { replica: this.#replica });
  }

  /** Oldest first. */
  #of(agent: AgentRef): Session[] {
    return [...this.#sessions.values()].filter((session) => isSame(session.agent, agent));
  }

  #requested(message: Msg): void {
    const { connection: id, request } = decode(message.data);
    const session = this.#sessions.get(String(id));
    const agent = parseAgentRef(agentOf(message.subject));
    if (session?.state !== 'admitted' || !agent.ok || !isSame(session.agent, agent.value)) {
      this.#respond(message, { ended: 'control does not know this session' });
      return;
    }
    if (session.pending >= MAX_PENDING) {
      const detail = 'This agent has too many unanswered requests.';
      this.#respond(message, { reply: { kind: 'refused', code: 'unavailable', detail } });
      return;
    }
    const send = (reply: ControlReply): void => {
      if (session.state === 'admitted') this.#respond(message, { reply });
    };
    const started = startRequest(this.#options, session.agent, request, send);
    if ('invalid' in started) {
      this.#end(session);
      this.#respond(message, { ended: started.invalid });
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

  /** Throws `LinkError` `too_large`. Does nothing once control has closed. */
  #respond(message: Msg, envelope: object): void {
    const body = encode(envelope);
    if (!this.#connection.isClosed()) message.respond(body);
  }

  /** What cannot be sent is lost, as notices may be: the library would keep it in memory until a server is back. */
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
