import {
  AuthorizationError,
  type Msg,
  type NatsConnection,
  RequestError,
  type Subscription,
} from '@nats-io/transport-node';
import { describeError } from '@portcullis/core/log.ts';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentRequest, ControlReply } from '../messages/messages.ts';
import type { Schema, Static } from '../messages/schema.ts';
import { AgentEvents, readReply } from '../transport/agent-events.ts';
import type { AgentConnectOptions } from '../transport/agent-side.ts';
import { PendingRequests } from '../transport/pending-requests.ts';
import { type AgentSide, LinkError, MAX_AGENT_BYTES } from '../transport/transport.ts';
import {
  decode,
  encode,
  type NatsAccess,
  openConnection,
  retryMs,
  UnfitServer,
  whyUnreachable,
} from './connection.ts';
import { CALL, NOTICE, SESSION } from './envelopes.ts';
import { type AgentSubjects, subjectsOf } from './subjects.ts';
import { listen } from './subscription.ts';

const GREETING_TIMEOUT_MS = 10_000;

/**
 * An agent's side over NATS. It greets control on its own subject; the replica that admits it then gets its requests. When
 * that replica closes, does not respond, or ends the session, the agent greets again.
 */
export class NatsAgent extends AgentEvents implements AgentSide {
  readonly #options: AgentConnectOptions;
  readonly #access: NatsAccess;
  readonly #subjects: AgentSubjects;
  /** Names this process in its session with control. */
  readonly #connectionId = randomUUID();
  readonly #pending = new PendingRequests<ControlReply>('control');
  readonly #aborted = new AbortController();
  #connection: NatsConnection | null = null;
  /** Refused by the server, at the last attempt to connect. */
  #isRefused = false;
  /** The number of greetings; a newer one replaces the others. */
  #attempts = 0;
  #replica: string | null = null;
  #calls: Subscription | null = null;

  constructor(options: AgentConnectOptions, access: NatsAccess) {
    super();
    this.#options = options;
    this.#access = access;
    this.#subjects = subjectsOf(options.agent);
    void this.#connect();
  }

  async request(request: AgentRequest, timeoutMs: number): Promise<ControlReply> {
    if (this.closed) throw new LinkError('closed', 'this link was closed');
    const [connection, replica] = [this.#connection, this.#replica];
    if (connection === null || replica === null) {
      throw new LinkError('disconnected', 'control is not connected');
    }
    const subject = this.#subjects.request(replica);
    return this.#pending.start(timeoutMs, (id) => {
      const body = encode(
        { connection: this.#connectionId, request },
        MAX_AGENT_BYTES[this.#options.agent.kind],
      );
      connection.request(subject, body, { timeout: timeoutMs }).then(
        ({ data }) => {
          const { reply, ended } = decode(data);
          if (typeof ended === 'string') this.#lost(ended, replica);
          else this.#pending.answer(id, readReply(reply));
        },
        (error: unknown) => {
          if (error instanceof RequestError && error.isNoResponders())
            this.#lost('it does not respond', replica);
          // The request's own timer ends it.
        },
      );
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.ready = false;
    this.#replica = null;
    this.#aborted.abort();
    this.#pending.failAll(new LinkError('closed', 'this link was closed'));
    await this.#connection?.close();
  }

  /** Connects to a server for the first time; then the connection reconnects by itself. */
  async #connect(): Promise<void> {
    const { agent } = this.#options;
    const { inboxPrefix } = this.#subjects;
    while (!this.closed) {
      try {
        const name = `${agent.kind}:${agent.name}`;
        const isRefused = (): boolean => this.#isRefused;
        this.#connection = await openConnection(this.#access, { name, inboxPrefix, isRefused });
        break;
      } catch (error) {
        this.#isRefused = error instanceof UnfitServer || error instanceof AuthorizationError;
        this.away(`${this.#where}: ${describeError(error)}`);
        if (error instanceof UnfitServer) this.refused(error.message);
        else if (this.#isRefused) this.refused(REFUSED_BY_SERVER);
        await this.#pause(retryMs(this.#isRefused));
      }
    }
    if (this.closed) await this.#connection?.close();
    else if (this.#connection !== null) this.#serve(this.#connection);
  }

  #serve(connection: NatsConnection): void {
    const { session, notice } = this.#subjects;
    this.#listen(connection, session, SESSION, (envelope) => this.#sessionMessage(envelope));
    this.#listen(connection, notice, NOTICE, (envelope) => this.deliver(envelope.notice));
    void this.#watch(connection);
    void this.#greet(connection);
  }

  #listen<T>(
    connection: NatsConnection,
    subject: string,
    schema: Schema<T>,
    take: (envelope: T, message: Msg) => void | Promise<void>,
  ): Subscription {
    return listen(connection, {
      subject,
      schema,
      take: (envelope, message) => (this.ready ? take(envelope, message) : undefined),
    });
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') {
        this.#lost(`no NATS server at ${this.#where}`, this.#replica);
        void this.#explainAbsence();
      } else if (status.type === 'reconnect') {
        this.#isRefused = false;
        void this.#greet(connection);
      } else if (status.type === 'error' && status.error instanceof AuthorizationError) {
        this.#isRefused = true;
        this.refused(REFUSED_BY_SERVER);
      }
    }
    // The library has given up.
    if (!this.closed) void this.#connect();
  }

  /** Asks for admission until it is admitted, the connection is lost, or it is closed. */
  async #greet(connection: NatsConnection): Promise<void> {
    const attempt = ++this.#attempts;
    const isCurrent = (): boolean => !this.closed && !this.ready && attempt === this.#attempts;
    const { credential } = this.#options;
    const body = encode({ connection: this.#connectionId, ...(credential && { credential }) });
    while (isCurrent()) {
      try {
        const timeout = GREETING_TIMEOUT_MS;
        const { data } = await connection.request(this.#subjects.greet, body, { timeout });
        if (!isCurrent()) return;
        const { replica, refused } = decode(data);
        if (typeof replica === 'string') await this.#admitted(connection, replica);
        else if (typeof refused === 'string') this.refused(refused);
      } catch (error) {
        // No replica is there, or no server.
        if (error instanceof RequestError && error.isNoResponders())
          this.away(`the NATS server at ${this.#where} answers, and no control plane does over it`);
      }
      if (isCurrent()) await this.#pause(this.nextRetryMs());
    }
  }

  async #admitted(connection: NatsConnection, replica: string): Promise<void> {
    this.#stopCalls();
    this.#calls = this.#listen(connection, this.#subjects.call, CALL, (call, message) =>
      this.#called(call, message),
    );
    // Control may call as soon as the agent counts as connected.
    await connection.flush();
    if (this.closed) return;
    this.#replica = replica;
    this.becomeReady();
  }

  async #called(
    { request, connection = this.#connectionId }: Static<typeof CALL>,
    message: Msg,
  ): Promise<void> {
    if (connection !== this.#connectionId) return;
    const answer = await this.answerCall(request);
    if (answer === null) return;
    try {
      message.respond(encode({ answer }));
    } catch {
      // Too large, or closed meanwhile: control hears nothing, and does without.
    }
  }

  #sessionMessage({ newest, ended, refused }: Static<typeof SESSION>): void {
    if (ended === this.#connectionId) {
      if (refused !== undefined) this.refused(refused);
      this.#lost('control ended this session', this.#replica);
    } else if (newest !== undefined && newest !== this.#connectionId) this.#stopCalls();
  }

  #stopCalls(): void {
    this.#calls?.unsubscribe();
    this.#calls = null;
  }

  get #where(): string {
    return this.#access.servers.join(', ');
  }

  /** The library reconnects without saying what it meets. */
  async #explainAbsence(): Promise<void> {
    const reasons = await Promise.all(this.#access.servers.map(whyUnreachable));
    const found = reasons.filter((reason) => reason !== null);
    if (!this.ready && found.length > 0) this.away(`${this.#where}: ${found.join(', ')}`);
  }

  /** Does nothing if another replica admitted the agent meanwhile. */
  #lost(reason: string, replica: string | null): void {
    if (replica === null || replica !== this.#replica || this.closed) return;
    this.#replica = null;
    this.ready = false;
    this.away(reason);
    this.#stopCalls();
    // The library delivers replies that arrived before this end later in the same turn: they still count.
    setImmediate(() => {
      if (this.closed) return;
      this.#pending.failAll(
        new LinkError('disconnected', `the connection to control ended: ${reason}`),
      );
      if (this.#connection !== null) void this.#greet(this.#connection);
    });
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, null, { signal: this.#aborted.signal }).catch(() => {});
  }
}

const REFUSED_BY_SERVER =
  'The NATS server refuses the credential of this agent: it was revoked or replaced, or belongs to another installation.';
