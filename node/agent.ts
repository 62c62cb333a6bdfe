import { randomUUID } from 'node:crypto';
import { RefusedByControl } from '@portcullis/agent/request.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { coalesce, type Coalesced } from '@portcullis/agent/coalesce.ts';
import type {
  CallAnswer,
  NodeCall,
  NodeEngine,
  ServerBuild,
} from '@portcullis/link/messages/node.ts';
import { type AgentSide, LinkError } from '@portcullis/link/transport/transport.ts';
import { bounded, type Engine, type EngineEvent, sentenceOf } from './engine/engine.ts';
import { DiskGuard, type GuardedServer } from './disk/disk-guard.ts';
import type { MeasureDisk } from './disk/measure.ts';
import type { Journal } from './journal/journal.ts';
import type { Assignments, ServerRecord } from './journal/record.ts';
import type { Server } from './server/server.ts';
import { Session } from './control-requests.ts';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
/** Until control says otherwise. */
const HEARTBEAT_MS = 15_000;
const RESYNC_MS = 30_000;
/** What changes meanwhile is in the same report. */
const NEWS_MS = 100;
const DESCRIBE_MS = 5_000;
const LIST_MS = 15_000;
/** Of the time of a call, that the engine has to show life: 1.2 s of the 2 s of a reader. */
const LIFE_SHARE = 0.6;

export interface NodeAgentOptions {
  readonly link: AgentSide;
  readonly engine: Engine;
  readonly journal: Journal;
  readonly log: Log;
  readonly createServer: (uuid: string, kept: ServerRecord | undefined, on: ServerEvents) => Server;
  /** How often what the engine lists is compared with what is believed. */
  readonly compareMs?: number;
  readonly measureDisk: MeasureDisk;
  /** From the end of a round of measuring to the next. */
  readonly measurePauseMs?: number;
  /** On the disk of the servers' folders. */
  readonly freeBytes?: () => Promise<number>;
}
export interface ServerEvents {
  readonly onNews: () => void;
  readonly onGone: (uuid: string) => void;
  readonly checkDisk: (server: GuardedServer) => Promise<string | null>;
}

/**
 * The agent on a game host. It runs what the journal says, also while control is away; control's word replaces it
 * when it comes. Stopping it stops no server.
 */
export class NodeAgent {
  readonly #options: NodeAgentOptions;
  readonly #log: Log;
  readonly #session: Session;
  readonly #servers = new Map<string, Server>();
  readonly #disk: DiskGuard;
  readonly #life: EngineLife;
  readonly #receiving: Coalesced;
  readonly #reporting: Coalesced;
  #assignments: Assignments | null = null;
  /** null: it has not said anything yet, so there is nothing to report. */
  #engine: NodeEngine | null = null;
  #greeted = false;
  #retryMs = FIRST_RETRY_MS;
  #news: NodeJS.Timeout | undefined;
  #timers: NodeJS.Timeout[] = [];
  #comparing: NodeJS.Timeout | undefined;
  #unlisten: () => void = () => {};
  #stopped = false;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#session = new Session(options.link, randomUUID());
    this.#life = new EngineLife(options.engine);
    const { measureDisk: measure, measurePauseMs, freeBytes } = options;
    this.#disk = new DiskGuard({
      measure,
      servers: () => [...this.#servers.values()].flatMap((server) => server.guarded ?? []),
      onMeasured: (uuid, use) => this.#servers.get(uuid)?.measured(use),
      act: (uuid, action, reason) => this.#servers.get(uuid)?.endOverDisk(action, reason),
      onError: (uuid, error) => this.#log.debug({ uuid, error }, 'a folder was not measured'),
      ...(measurePauseMs === undefined ? {} : { pauseMs: measurePauseMs }),
      ...(freeBytes === undefined ? {} : { freeBytes }),
    });
    this.#receiving = coalesce(() => this.#receive());
    this.#reporting = coalesce(() => this.#report());
  }

  /** Resolves as soon as the servers of the journal are there; neither control nor the engine need be. */
  start(): void {
    const { journal, engine, link, createServer, compareMs } = this.#options;
    this.#assignments = journal.loadAssignments();
    for (const [uuid, kept] of journal.loadRecords()) {
      this.#servers.set(uuid, createServer(uuid, kept, this.#events));
    }
    if (this.#assignments !== null) this.#assign(this.#assignments);
    this.#unlisten = engine.onEvent((event) => this.#heard(event));
    link.onConnect(() => {
      this.#greeted = false;
      this.#receiving.poke();
    });
    link.onRefused((reason) => this.#log.error({ reason }, 'control does not let this node in'));
    link.onNotice((notice) => {
      if (notice.kind === 'node.assignments') this.#receiving.poke();
      else if (notice.kind === 'node.call') void this.#answer(notice);
    });
    this.#comparing = setInterval(() => void this.#compare(), compareMs ?? RESYNC_MS);
    this.#beat(HEARTBEAT_MS, RESYNC_MS);
    this.#disk.start();
  }

  /** Servers keep running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#comparing);
    clearTimeout(this.#news);
    for (const timer of this.#timers) clearInterval(timer);
    this.#unlisten();
    await this.#options.link.close();
    await this.#disk.stop();
    await Promise.all([this.#receiving.stop(), this.#reporting.stop()]);
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
    await this.#options.engine.close();
  }

  readonly #events: ServerEvents = {
    onNews: () => {
      if (this.#stopped) return;
      this.#news ??= setTimeout(() => {
        this.#news = undefined;
        this.#reporting.poke();
      }, NEWS_MS);
    },
    onGone: (uuid) => void this.#forget(uuid),
    checkDisk: (server) => this.#disk.measure(server),
  };

  async #receive(): Promise<number | null> {
    try {
      if (!this.#greeted) await this.#greet();
      const wanted = await this.#session.sync(this.#assignments);
      this.#retryMs = FIRST_RETRY_MS;
      if (wanted === null) return null;
      // First on the disk: what is begun by it must be known to an agent that comes after.
      await this.#options.journal.saveAssignments(wanted);
      this.#assignments = wanted;
      this.#assign(wanted);
      this.#log.info({ servers: wanted.servers.length }, 'control named the servers of this node');
      await this.#compare();
      this.#reporting.poke();
      return null;
    } catch (error) {
      return this.#afterFailure(error);
    }
  }

  async #greet(): Promise<void> {
    const { heartbeatMs, resyncMs } = await this.#session.hello();
    this.#greeted = true;
    this.#beat(heartbeatMs, resyncMs);
    this.#log.info({}, 'joined control');
    this.#reporting.poke();
  }

  /** Answers when to try again; a lost connection says so itself when it is back. */
  #afterFailure(error: unknown): number | null {
    if (this.#stopped) return null;
    if (error instanceof LinkError && error.code === 'disconnected') {
      this.#log.warn({}, 'control is away; servers run on');
      return null;
    }
    if (error instanceof RefusedByControl && error.code === 'resync') this.#greeted = false;
    this.#log.warn({ error }, 'control did not answer as hoped');
    const againMs = this.#retryMs;
    this.#retryMs = Math.min(againMs * 2, LONGEST_RETRY_MS);
    return againMs;
  }

  #assign({ servers, eggs }: Assignments): void {
    const named = new Set<string>();
    for (const assignment of servers) {
      named.add(assignment.uuid);
      this.#serverOf(assignment.uuid).assign(assignment, eggs[assignment.egg] ?? null);
    }
    for (const [uuid, server] of this.#servers) if (!named.has(uuid)) server.retire();
  }

  #serverOf(uuid: string): Server {
    const known = this.#servers.get(uuid);
    if (known !== undefined) return known;
    const server = this.#options.createServer(uuid, undefined, this.#events);
    this.#servers.set(uuid, server);
    return server;
  }

  async #forget(uuid: string): Promise<void> {
    const server = this.#servers.get(uuid);
    if (server === undefined) return;
    this.#servers.delete(uuid);
    await server.close();
    await this.#options.journal.removeRecord(uuid);
    this.#log.info({ uuid }, 'a server that is no longer of this node is gone; its files stay');
  }

  #heard(event: EngineEvent): void {
    if ('uuid' in event) {
      this.#servers.get(event.uuid)?.heard('changed');
      return;
    }
    if (event.kind === 'lost') {
      const { kind } = this.#options.engine;
      this.#engine = { kind, version: null, problem: event.reason };
      this.#log.error({ reason: event.reason }, 'the engine does not answer');
    } else {
      void this.#describe();
    }
    for (const server of this.#servers.values()) server.heard(event.kind);
    this.#events.onNews();
  }

  async #describe(): Promise<void> {
    const { engine } = this.#options;
    const { kind } = engine;
    try {
      const facts = await bounded('describe itself', DESCRIBE_MS, engine.describe());
      const problem = facts.warnings.length === 0 ? null : facts.warnings.join(' ');
      this.#engine = { kind, version: facts.version, problem };
      this.#log.info({ ...facts }, 'the engine answers');
    } catch (error) {
      this.#engine = { kind, version: null, problem: sentenceOf(error) };
    }
    this.#events.onNews();
  }

  /** Makes up for events that were missed, and finds what is ours and nobody knows of. */
  async #compare(): Promise<void> {
    const { engine } = this.#options;
    try {
      const listed = await bounded('list what runs', LIST_MS, engine.list());
      if (this.#stopped) return;
      const byUuid = new Map(listed.map((instance) => [instance.uuid, instance]));
      for (const [uuid, server] of this.#servers) server.seen(byUuid.get(uuid) ?? null);
      if (this.#assignments === null) return;
      for (const { uuid } of listed) {
        if (this.#servers.has(uuid)) continue;
        this.#log.warn({ uuid }, 'an instance of no server of this node is stopped and removed');
        this.#serverOf(uuid).retire();
      }
    } catch (error) {
      this.#log.debug({ error }, 'the engine did not list what runs');
    }
  }

  #beat(heartbeatMs: number, resyncMs: number): void {
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#stopped) return;
    this.#timers = [
      setInterval(() => this.#reporting.poke(), heartbeatMs),
      setInterval(() => this.#receiving.poke(), resyncMs),
    ];
  }

  async #report(): Promise<number | null> {
    const engine = this.#engine;
    if (!this.#greeted || this.#stopped || engine === null) return null;
    const named = new Set(this.#assignments?.servers.map(({ uuid }) => uuid));
    const builds = [...this.#servers.values()]
      .filter(({ uuid }) => named.has(uuid))
      .map((server) => server.report());
    try {
      await this.#session.heartbeat({ engine, builds: withinOneMessage(builds) });
    } catch (error) {
      if (this.#afterFailure(error) !== null && !this.#greeted) this.#receiving.poke();
    }
    return null;
  }

  /** A call that came too late is not begun, and one that took too long is not answered: nobody waits. */
  async #answer({ id, uuid, withinMs, call }: NodeCall): Promise<void> {
    const untilMs = performance.now() + withinMs;
    const isLate = (): boolean => performance.now() >= untilMs;
    try {
      const answer = await this.#do(uuid, call, { withinMs, isLate });
      if (answer === null || isLate() || !this.#greeted) return;
      await this.#session.answer({ id, answer });
    } catch (error) {
      this.#log.warn({ uuid, error: describeError(error) }, 'a call could not be answered');
    }
  }

  async #do(
    uuid: string,
    call: NodeCall['call'],
    { withinMs, isLate }: { readonly withinMs: number; readonly isLate: () => boolean },
  ): Promise<CallAnswer | null> {
    const server = this.#servers.get(uuid);
    if (server === undefined) {
      return { kind: 'refused', reason: 'The node does not have this server.' };
    }
    // The lines of a console are here; everything else is as true as the engine is alive. A kill is done when it is,
    // and still waits, so that it overtakes nothing that was said before it.
    const answers = call.kind === 'lines' || (await this.#life.answers(withinMs * LIFE_SHARE));
    if (!answers && !(call.kind === 'power' && call.signal === 'kill')) {
      return { kind: 'refused', reason: 'The engine of this node does not answer.' };
    }
    switch (call.kind) {
      case 'look':
        return server.look();
      case 'power':
        return server.power(call.signal, isLate);
      case 'command':
        return server.command(call.command, isLate);
      case 'lines':
        return server.lines(call.last);
      default:
        return null;
    }
  }
}

/** So long an answer counts for everybody who asks. */
const FRESH_MS = 500;

/**
 * Whether the engine answers now. One that hangs says nothing of it, and is taken for lost only after seconds: until
 * then nobody is told what was true before, nor that something is done which waits for it. A hiccup costs no more.
 */
export class EngineLife {
  readonly #engine: Pick<Engine, 'ping'>;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | null = null;

  constructor(engine: Pick<Engine, 'ping'>) {
    this.#engine = engine;
  }

  /** Resolves within that time. Whoever asks meanwhile waits for the same answer. */
  async answers(withinMs: number): Promise<boolean> {
    if (performance.now() - this.#answeredAtMs < FRESH_MS) return true;
    this.#asking ??= this.#ask();
    return bounded('answer', withinMs, this.#asking).catch(() => false);
  }

  async #ask(): Promise<boolean> {
    try {
      await this.#engine.ping();
      this.#answeredAtMs = performance.now();
      return true;
    } catch {
      return false;
    } finally {
      this.#asking = null;
    }
  }
}

/** Far below what a message may be, with room for all that is not a log. */
const LOG_BUDGET = 6 * 1024 * 1024;

/** Logs of failed builds as long as they fit into one report: the last are left out, the reasons are not. */
export function withinOneMessage(builds: readonly ServerBuild[]): readonly ServerBuild[] {
  let left = LOG_BUDGET;
  return builds.map((build) => {
    left -= build.log === null ? 0 : Buffer.byteLength(JSON.stringify(build.log));
    return left >= 0 ? build : { ...build, log: null };
  });
}
