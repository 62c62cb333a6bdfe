import {
  AuthorizationError,
  type NatsAccess,
  type NatsConnection,
  UnfitServer,
  openConnection,
  requireAuthentication,
} from '@portcullis/link/nats/connection.ts';
import { NatsControl } from '@portcullis/link/nats/control.ts';
import { NatsReplicas } from '@portcullis/link/nats/replicas.ts';
import type { AgentCall, AgentRef, AnswerTo, Notice } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples } from '@portcullis/link/messages/attacks.ts';
import type { ReplicaRelay, TakeSamples, Usage } from '@portcullis/link/transport/relay.ts';
import type { ServeOptions } from '@portcullis/link/transport/handling.ts';
import { type ControlSide, LinkError } from '@portcullis/link/transport/transport.ts';
import { describeError } from '@portcullis/core/log.ts';
import type { Logger } from 'pino';
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../db/database.ts';
import {
  controlAccess,
  ensureInstallation,
  type NatsInstallation,
  saveServers,
  signAccounts,
} from './installation.ts';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const UPDATE_TIMEOUT_MS = 5_000;
/** NATS servers store an account that is published here. */
const UPDATE_SUBJECT = '$SYS.REQ.CLAIMS.UPDATE';

interface NatsLinkOptions extends ServeOptions {
  readonly db: Db;
  /** For agents. */
  readonly servers: readonly string[];
  /** URLs by which this process reaches them. */
  readonly connectTo: readonly string[];
  readonly log: Logger;
}

/**
 * Control's side over NATS. It waits for the servers, which may start later, and publishes to them whose credentials
 * were revoked.
 */
export class NatsLink implements ControlSide, ReplicaRelay {
  readonly #options: NatsLinkOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #serving: NatsControl | null = null;
  #replicas: NatsReplicas | null = null;
  #takeSamples: TakeSamples | null = null;
  #onUsage: (usage: Usage) => void = () => {};
  /** In the account of NATS itself. */
  #system: { readonly connection: NatsConnection; readonly installation: NatsInstallation } | null =
    null;
  /** Publications of accounts, one after the other. */
  #published: Promise<void> = Promise.resolve();

  constructor(options: NatsLinkOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async call<C extends AgentCall>(
    agent: AgentRef,
    call: C,
    timeoutMs: number,
  ): Promise<AnswerTo<C>> {
    if (this.#serving === null) throw new LinkError('disconnected', 'NATS is not connected');
    return this.#serving.call(agent, call, timeoutMs);
  }

  notify(notice: Notice): void {
    this.#serving?.notify(notice);
  }

  admitted(kind: AgentRef['kind']): ReadonlySet<string> {
    return this.#serving?.admitted(kind) ?? new Set();
  }

  recheck(matches: (agent: AgentRef) => boolean): void {
    this.#serving?.recheck(matches);
    this.publishAccounts();
  }

  async pass(from: AgentRef, site: string, message: WatchSamples): Promise<boolean> {
    return (await this.#replicas?.pass(from, site, message)) ?? false;
  }

  serve(take: TakeSamples | null): void {
    this.#takeSamples = take;
    this.#replicas?.serve(take);
  }

  publishUsage(usage: Usage): void {
    this.#replicas?.publishUsage(usage);
  }

  onUsage(listener: (usage: Usage) => void): void {
    this.#onUsage = listener;
  }

  /** Makes NATS refuse the credentials that were replaced or removed, and disconnect the agents that use them. */
  publishAccounts(): void {
    this.#published = this.#published.then(() => this.#publish());
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      try {
        await this.#serve();
        retryMs = FIRST_RETRY_MS;
      } catch (error) {
        if (error instanceof UnfitServer) log.error({ reason: error.message }, 'NATS is not used');
        else log.warn({ reason: describeError(error) }, 'NATS is not reachable yet; retrying');
      }
      await delay(retryMs, null, { signal }).catch(() => {});
      retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
    }
  }

  /** Until control stops. The connections reconnect by themselves; the library closes one that it gives up. */
  async #serve(): Promise<void> {
    const { db, servers, connectTo, log } = this.#options;
    const { signal } = this.#stopping;
    const installation = await ensureInstallation(db);
    await saveServers(db, servers);
    const access = (account: 'system' | 'replicas' | 'account') =>
      controlAccess(installation, connectTo, account);
    await requireAuthentication(access('account'));
    const system = await openConnection(access('system'), { name: 'control-system' });
    this.#system = { connection: system, installation };
    const opened: { close(): Promise<void> }[] = [];
    try {
      // A server whose configuration is of an earlier version learns of the account of the replicas by this.
      this.publishAccounts();
      await this.#published;
      const between = await openReplicas(access('replicas'));
      const replicas = new NatsReplicas(between, this.#options.onError);
      opened.push(replicas);
      const connection = await openConnection(access('account'), { name: 'control' });
      const serving = new NatsControl(connection, this.#options);
      opened.push(serving);
      this.#serving = serving;
      this.#replicas = replicas;
      replicas.serve(this.#takeSamples);
      replicas.onUsage((usage) => this.#onUsage(usage));
      void this.#watch(system);
      log.info({ server: connection.getServer() }, 'serving agents over NATS');
      const stopped = new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      const ended = [connection.closed(), between.closed(), system.closed(), stopped];
      if (!signal.aborted) await Promise.race(ended);
    } finally {
      this.#serving = null;
      this.#replicas = null;
      for (const one of opened.toReversed()) await one.close();
      await this.#published;
      await system.close();
      this.#system = null;
    }
  }

  /** A server that comes back may have missed a revocation. */
  async #watch(system: NatsConnection): Promise<void> {
    const { log } = this.#options;
    for await (const { type } of system.status()) {
      if (type === 'disconnect')
        log.warn({}, 'NATS is away: agents of other hosts are not reached');
      if (type !== 'reconnect') continue;
      log.info({ server: system.getServer() }, 'NATS is back');
      this.publishAccounts();
    }
  }

  async #publish(): Promise<void> {
    const { db, log } = this.#options;
    if (this.#system === null || this.#stopping.signal.aborted) return;
    const { connection, installation } = this.#system;
    try {
      const { accounts } = await signAccounts(db, installation);
      for (const { publicName } of [installation.replicas, installation.account]) {
        const jwt = accounts[publicName] ?? '';
        const reply = await connection.request(UPDATE_SUBJECT, jwt, { timeout: UPDATE_TIMEOUT_MS });
        const { error } = reply.json<{ readonly error?: { readonly description?: string } }>();
        if (error !== undefined) throw new Error(error.description ?? 'NATS refused the account');
      }
    } catch (error) {
      log.warn({ error }, 'revocations could not be published to NATS; control still refuses them');
    }
  }
}

async function openReplicas(access: NatsAccess): Promise<NatsConnection> {
  return openConnection(access, { name: 'control-replicas' }).catch((error: unknown) => {
    if (!(error instanceof AuthorizationError)) throw error;
    throw new UnfitServer(
      'The NATS server does not know the account of the replicas of control, and did not take it. Write its configuration again with "portcullis nats config", and restart it.',
    );
  });
}
