import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import type { WatchSamples } from '../messages/attacks.ts';
import type { AgentRef } from '../messages/messages.ts';
import type { ReplicaRelay, TakeSamples, Usage } from '../transport/relay.ts';
import { encode } from './connection.ts';
import { SAMPLES, USAGE } from './envelopes.ts';
import { CONTROL_SAMPLES, CONTROL_USAGE } from './subjects.ts';
import { listen } from './subscription.ts';

const SAMPLES_TIMEOUT_MS = 1_000;

/**
 * Messages that the replicas of control say to one another, on a connection in the account of the replicas: it
 * neither imports nor exports, so nothing of an agent can reach it, not even as the reply to a request.
 */
export class NatsReplicas implements ReplicaRelay {
  readonly #connection: NatsConnection;
  readonly #onError: ((error: unknown) => void) | undefined;
  readonly #replica = randomUUID();
  #isConnected = true;
  #samples: Subscription | null = null;
  #onUsage: (usage: Usage) => void = () => {};

  constructor(connection: NatsConnection, onError?: (error: unknown) => void) {
    this.#connection = connection;
    this.#onError = onError;
    listen(connection, {
      subject: CONTROL_USAGE,
      schema: USAGE,
      onError,
      take: ({ replica, usage }) => {
        if (replica !== this.#replica) this.#onUsage(usage);
      },
    });
    void this.#watch();
  }

  async pass(from: AgentRef, site: string, message: WatchSamples): Promise<boolean> {
    if (!this.#isConnected) return false;
    const timeout = SAMPLES_TIMEOUT_MS;
    const body = encode({ from, site, message });
    return this.#connection.request(CONTROL_SAMPLES, body, { timeout }).then(
      () => true,
      () => false,
    );
  }

  serve(take: TakeSamples | null): void {
    this.#samples?.unsubscribe();
    this.#samples = null;
    if (take === null) return;
    this.#samples = listen(this.#connection, {
      subject: CONTROL_SAMPLES,
      schema: SAMPLES,
      onError: this.#onError,
      take: ({ from, site, message }, received) => {
        take(from, site, message);
        received.respond();
      },
    });
  }

  publishUsage(usage: Usage): void {
    if (!this.#isConnected || this.#connection.isClosed()) return;
    this.#connection.publish(CONTROL_USAGE, encode({ replica: this.#replica, usage }));
  }

  onUsage(listener: (usage: Usage) => void): void {
    this.#onUsage = listener;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'reconnect') this.#isConnected = true;
      else if (type === 'disconnect') this.#isConnected = false;
    }
  }
}
