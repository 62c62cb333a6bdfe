import { randomUUID } from 'node:crypto';
import { AgentSession } from '@portcullis/agent/session.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { withOwnStart } from '@portcullis/core/game-servers/eggs/own-start.ts';
import { imageOf } from '@portcullis/core/game-servers/host-engines.ts';
import type {
  NodeAnswer,
  NodeCall,
  NodeEngine,
  ServerBuild,
} from '@portcullis/link/messages/node.ts';
import { Limiter } from '@portcullis/link/limiter.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import { ControlClient } from './control-client.ts';
import { DiskGuard, type GuardOptions } from './disk/disk-guard.ts';
import { describeFailure, type Engine, type EngineEvent, withTimeout } from './engine/engine.ts';
import { FileService, type FileServiceOptions } from './files/service.ts';
import type { StreamRoute } from './files/streams/connect.ts';
import { LinkServer, type LinkServerOptions } from './files/streams/link-server.ts';
import { FileLinks } from './files/streams/links.ts';
import type { LocalImages } from './images/local-images.ts';
import type { Journal } from './journal/journal.ts';
import type { Assignments, ServerRecord } from './journal/record.ts';
import type { Purges } from './server-folder/purge.ts';
import type { OfferedMount } from './server/mounts.ts';
import type { Server, ServerEvents } from './server/server.ts';
import { SftpDoor, type SftpDoorOptions } from './sftp/door.ts';

/** Changes within this time go into one heartbeat. */
const REPORT_DELAY_MS = 100;
const DESCRIBE_MS = 5_000;
/** The interval at which the engine's list is compared with the state of the servers. */
const COMPARE_MS = 30_000;
const LIST_MS = 15_000;
/** A write waits for a measurement this long at most. */
const MEASURE_MS = 3_000;
/** The share of a call's time that the engine has to answer a ping: 1.2 s of a reader's 2 s. */
const PING_SHARE = 0.6;
/** Leaves room in a message for everything that is not a build log. */
const LOG_BUDGET = 6 * 1024 * 1024;

export interface NodeAgentOptions {
  readonly link: AgentSide;
  readonly engine: Engine;
  readonly journal: Journal;
  readonly log: Log;
  /** Folders of this host for servers that name them. */
  readonly mounts: readonly OfferedMount[];
  readonly purges: Purges;
  /** Null: nothing runs in Docker here. */
  readonly images: LocalImages | null;
  readonly createServer: (
    uuid: string,
    record: ServerRecord | undefined,
    events: ServerEvents,
  ) => Server;
  readonly disk: Pick<GuardOptions, 'measure' | 'freeBytes' | 'pauseMs'>;
  /** How streams of files reach control. */
  readonly route: StreamRoute;
  /** Opens the folder of a server for its people. */
  readonly openFolder: FileServiceOptions['openFolder'];
  /** The bounds of pulls from URLs. */
  readonly pulls: FileServiceOptions['pulls'];
  /** Where people connect by SFTP; null: nowhere. */
  readonly sftp: Pick<SftpDoorOptions, 'listen' | 'stateDir'> | null;
  /** Where links to files are served, and the URL of that; null: nowhere. */
  readonly fileLinks: (Pick<LinkServerOptions, 'listen' | 'tls'> & { readonly url: string }) | null;
}

/**
 * The agent on a game host. It runs the servers of its journal, also while control is away, until control sends other
 * assignments. Stopping the agent stops no server.
 */
export class NodeAgent {
  readonly #options: NodeAgentOptions;
  readonly #log: Log;
  readonly #control: ControlClient;
  readonly #session: AgentSession;
  readonly #servers = new Map<string, Server>();
  readonly #disk: DiskGuard;
  readonly #files: FileService;
  readonly #sftp: SftpDoor | null;
  readonly #links: FileLinks | null;
  readonly #checks = new Limiter(1);
  readonly #linkServer: LinkServer | null;
  #assignments: Assignments | null = null;
  /** Null until the engine has described itself; heartbeats wait for it. */
  #engine: Omit<NodeEngine, 'fileLinks'> | null = null;
  readonly #pings = new Map<Engine, Promise<boolean>>();
  #reportTimer: NodeJS.Timeout | undefined;
  #compareTimer: NodeJS.Timeout | undefined;
  #unsubscribe: () => void = () => {};
  #stopped = false;

  constructor(options: NodeAgentOptions) {
    const { link, log } = options;
    this.#options = options;
    this.#log = log;
    this.#control = new ControlClient(link, randomUUID());
    this.#session = new AgentSession({
      link,
      log,
      awayMessage: 'the connection to control is lost; servers keep running',
      hello: async () => {
        const intervals = await this.#control.hello();
        log.info({}, 'joined control');
        return intervals;
      },
      sync: () => this.#sync(),
      heartbeat: () => this.#heartbeat(),
    });
    this.#disk = new DiskGuard({
      ...options.disk,
      servers: () => [...this.#servers.values()].flatMap((server) => server.guardedServer ?? []),
      onMeasured: (uuid, use, startedAtMs) => {
        this.#servers.get(uuid)?.setDiskUse(use);
        this.#files.measured(uuid, use, startedAtMs);
      },
      act: (uuid, action, reason) => this.#servers.get(uuid)?.enforceDiskLimit(action, reason),
      onError: (uuid, error) => log.debug({ uuid, error }, 'a server folder was not measured'),
    });
    const { sftp, fileLinks } = options;
    this.#links = fileLinks && new FileLinks(fileLinks.url);
    this.#files = this.#createFiles();
    this.#linkServer = this.#createLinkServer();
    const { onChange } = this.#events;
    this.#sftp =
      sftp && new SftpDoor({ ...sftp, control: this.#control, files: this.#files, onChange, log });
  }

  /** Loads the servers of the journal; neither control nor the engine need to answer. */
  start(): void {
    const { journal, engine, link, images, createServer } = this.#options;
    this.#assignments = journal.loadAssignments();
    for (const [uuid, record] of journal.loadRecords()) {
      this.#servers.set(uuid, createServer(uuid, record, this.#events));
    }
    if (this.#assignments !== null) this.#assign(this.#assignments);
    this.#options.purges.want(this.#assignments?.purge ?? []);
    this.#unsubscribe = engine.onEvent((event) => this.#onEngineEvent(event));
    link.onRefused((reason) => this.#log.error({ reason }, 'control refuses this node'));
    link.onNotice((notice) => {
      if (notice.kind === 'node.assignments') this.#session.poke();
      if (notice.kind === 'node.access') this.#checkRights();
    });
    link.onCall(async (call) => {
      if (call.kind === 'node.image') return this.#makeImage(call.name);
      if (call.kind === 'node.files') return this.#files.run(call);
      return call.kind === 'node.call' ? this.#answer(call) : null;
    });
    if (images !== null) images.onChange = this.#events.onChange;
    this.#compareTimer = setInterval(() => void this.#compare(), COMPARE_MS);
    this.#session.start();
    this.#disk.start();
    this.#files.start();
    this.#sftp?.start();
    this.#linkServer?.start();
  }

  /** The port of links to files; null: they are not served. */
  get linkPort(): Promise<number> | null {
    return this.#linkServer?.listening ?? null;
  }

  /** The port of SFTP; null: it is not served. */
  get sftpPort(): Promise<number> | null {
    return this.#sftp?.listening ?? null;
  }

  /** Stops the agent; servers keep running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#compareTimer);
    clearTimeout(this.#reportTimer);
    this.#unsubscribe();
    // Reports what people did, so before the link.
    await this.#sftp?.stop();
    await this.#linkServer?.stop();
    const stopped = this.#session.stop();
    await this.#options.link.close();
    await this.#disk.stop();
    await this.#files.stop();
    await stopped;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
    await this.#options.engine.close();
  }

  #createFiles(): FileService {
    const { openFolder, disk, pulls, route, log } = this.#options;
    return new FileService({
      find: (uuid) =>
        this.#servers.get(uuid)?.fileSettings ?? 'The node does not have this server.',
      uuids: () => this.#servers.keys(),
      openFolder,
      measureServer: async (uuid) => {
        const guarded = this.#servers.get(uuid)?.guardedServer ?? null;
        if (guarded !== null) await this.#disk.measure(guarded, AbortSignal.timeout(MEASURE_MS));
      },
      measure: disk.measure,
      pulls,
      checkCallers: (callers) => this.#checkCallers(callers, ''),
      route,
      links: this.#links,
      log,
    });
  }

  #createLinkServer(): LinkServer | null {
    const { fileLinks, log } = this.#options;
    if (fileLinks === null || this.#links === null) return null;
    const { listen, tls } = fileLinks;
    return new LinkServer({
      listen,
      tls,
      onChange: () => this.#events.onChange(),
      links: this.#links,
      files: this.#files,
      checkCallers: (callers) => this.#checkCallers(callers, callers[0]?.caller ?? ''),
      log,
    });
  }

  /** Asks one question at a time, in turns for each `owner`: control refuses one that waits when another one comes. */
  #checkCallers(
    callers: Parameters<FileServiceOptions['checkCallers']>[0],
    owner: string,
  ): ReturnType<FileServiceOptions['checkCallers']> {
    return this.#checks.run(() => this.#control.filesCheck(callers), undefined, { owner });
  }

  readonly #events: ServerEvents = {
    onChange: () => {
      if (this.#stopped) return;
      this.#reportTimer ??= setTimeout(() => {
        this.#reportTimer = undefined;
        this.#session.pokeHeartbeat();
      }, REPORT_DELAY_MS);
    },
    onRemoved: (uuid) => void this.#forget(uuid),
    checkDisk: (server, signal) => this.#disk.measure(server, signal),
  };

  async #sync(): Promise<void> {
    this.#session.pokeHeartbeat();
    const { purges } = this.#options;
    const assignments = await this.#control.sync(this.#assignments);
    // A server that was being removed before may be gone by now.
    if (assignments === null) return void purges.run();
    // Saved first: an agent that starts after a crash must know what was begun.
    await this.#options.journal.saveAssignments(assignments);
    this.#assignments = assignments;
    this.#assign(assignments);
    purges.want(assignments.purge);
    this.#log.info({ servers: assignments.servers.length }, 'received the servers of this node');
    await this.#compare();
    this.#session.pokeHeartbeat();
  }

  #assign({ servers, eggs }: Assignments): void {
    const { engine } = this.#options;
    const assigned = new Set<string>();
    for (const assignment of servers) {
      assigned.add(assignment.uuid);
      const own = eggs[assignment.egg] ?? null;
      const egg = own && withOwnStart(own, assignment);
      const image = egg && imageOf(egg, assignment.image);
      if (image !== null) engine.expect?.(assignment.uuid, image.reference);
      this.#serverOf(assignment.uuid).assign(assignment, egg);
    }
    for (const [uuid, server] of this.#servers) if (!assigned.has(uuid)) server.retire();
    // Servers that were suspended or moved away.
    this.#checkRights();
  }

  /** Ends what people and keys do whose rights have ended. */
  #checkRights(): void {
    void this.#sftp?.check();
    void this.#files.checkRights();
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
    await this.#files.forget(uuid);
    await this.#options.journal.removeRecord(uuid);
    void this.#options.purges.run();
    this.#log.info({ uuid }, 'a server that is no longer assigned was removed; its files stay');
  }

  #onEngineEvent(event: EngineEvent): void {
    if ('uuid' in event) {
      this.#servers.get(event.uuid)?.onEngineEvent('changed');
      return;
    }
    const { engine } = this.#options;
    if (event.kind === 'lost' && event.from === undefined) {
      this.#engine = silentEngine(engine, event.reason, this.#mounts());
      this.#log.error({ reason: event.reason }, 'the engine does not answer');
    } else {
      void this.#describe();
    }
    for (const server of this.#servers.values()) {
      const isConcerned = event.from === undefined || engine.of?.(server.uuid) === event.from;
      if (isConcerned) server.onEngineEvent(event.kind);
    }
    this.#events.onChange();
  }

  #mounts(): NodeEngine['mounts'] {
    return this.#options.mounts.map(({ path, readOnly }) => ({ path, readOnly }));
  }

  async #describe(): Promise<void> {
    const { engine, images } = this.#options;
    try {
      const facts = await withTimeout('describe itself', DESCRIBE_MS, engine.describe());
      await images?.refresh();
      const { kind, version, docker, programs } = facts;
      const problem = facts.warnings.length === 0 ? null : facts.warnings.join(' ');
      const host = { docker, programs, images: [] };
      this.#engine = { kind, version, problem, host, mounts: this.#mounts() };
      this.#log.info({ ...facts }, 'the engine answers');
    } catch (error) {
      this.#engine = silentEngine(engine, describeFailure(error), this.#mounts());
    }
    this.#events.onChange();
  }

  /** Detects missed events, and instances of this node that belong to no server. */
  async #compare(): Promise<void> {
    const { engine } = this.#options;
    try {
      const listed = await withTimeout('list what runs', LIST_MS, engine.list());
      if (this.#stopped) return;
      const byUuid = new Map(listed.map((instance) => [instance.uuid, instance]));
      for (const [uuid, server] of this.#servers) server.compare(byUuid.get(uuid) ?? null);
      if (this.#assignments === null) return;
      for (const { uuid } of listed) {
        if (this.#servers.has(uuid)) continue;
        this.#log.warn({ uuid }, 'stopping and removing an instance that belongs to no server');
        this.#serverOf(uuid).retire();
      }
    } catch (error) {
      this.#log.debug({ error }, 'the engine did not list its instances');
    }
  }

  async #heartbeat(): Promise<void> {
    const { images } = this.#options;
    await images?.refresh();
    if (this.#engine === null) return;
    const { host } = this.#engine;
    const engine = {
      ...this.#engine,
      host: host && { ...host, images: images?.list() ?? [] },
      fileLinks: this.#links?.isServed ?? false,
    };
    const assigned = new Set(this.#assignments?.servers.map(({ uuid }) => uuid));
    const builds = [...this.#servers.values()]
      .filter(({ uuid }) => assigned.has(uuid))
      .map((server) => server.report());
    const { done: purged } = this.#options.purges;
    const sftp = this.#sftp?.reached ?? null;
    await this.#control.heartbeat({ engine, builds: limitLogs(builds), purged, sftp });
  }

  #makeImage(name: string): NodeAnswer {
    const { images } = this.#options;
    const refusal = images === null ? 'Nothing runs in Docker on this node.' : images.begin(name);
    return refusal === null ? { kind: 'accepted' } : { kind: 'refused', reason: refusal };
  }

  /** Does not start a call that is late, and does not answer one after its time: the caller has given up. */
  async #answer({ uuid, withinMs, call }: NodeCall): Promise<NodeAnswer | null> {
    const untilMs = performance.now() + withinMs;
    const isExpired = (): boolean => performance.now() >= untilMs;
    try {
      const answer = await this.#do(uuid, call, { withinMs, isExpired });
      return isExpired() ? null : answer;
    } catch (error) {
      this.#log.warn({ uuid, error: describeError(error) }, 'a call could not be answered');
      return null;
    }
  }

  async #do(
    uuid: string,
    call: NodeCall['call'],
    { withinMs, isExpired }: { readonly withinMs: number; readonly isExpired: () => boolean },
  ): Promise<NodeAnswer | null> {
    const server = this.#servers.get(uuid);
    if (server === undefined) {
      return { kind: 'refused', reason: 'The node does not have this server.' };
    }
    // Console lines are stored here; everything else needs an engine that answers. A kill is done when the engine is
    // back; it also waits for the ping, so that it does not overtake earlier calls.
    const answers =
      call.kind === 'lines' || (await this.#engineAnswers(uuid, withinMs * PING_SHARE));
    if (!answers && !(call.kind === 'power' && call.signal === 'kill')) {
      return { kind: 'refused', reason: 'The engine of this node does not answer.' };
    }
    switch (call.kind) {
      case 'look':
        return server.describe();
      case 'power':
        return server.power(call.signal, isExpired);
      case 'command':
        return server.command(call.command, isExpired);
      case 'lines':
        return server.lines(call.last, call.colours);
      default:
        return null;
    }
  }

  /**
   * Pings the engine of a server; calls at the same time share one ping. The event stream reports an engine that hangs only after
   * seconds, and callers must not get an old state until then.
   */
  async #engineAnswers(uuid: string, withinMs: number): Promise<boolean> {
    const { engine: all } = this.#options;
    const engine = all.of?.(uuid) ?? all;
    const ping =
      this.#pings.get(engine) ??
      engine
        .ping()
        .then(
          () => true,
          () => false,
        )
        .finally(() => this.#pings.delete(engine));
    this.#pings.set(engine, ping);
    return withTimeout('answer', withinMs, ping).catch(() => false);
  }
}

function silentEngine(
  { kind }: Engine,
  problem: string,
  mounts: NodeEngine['mounts'],
): Omit<NodeEngine, 'fileLinks'> {
  return {
    kind: kind === 'host' ? 'docker' : kind,
    version: null,
    problem,
    host: { docker: { version: null, lack: 'silent' }, programs: [], images: [] },
    mounts,
  };
}

/** Leaves out the logs of failed builds that do not fit into one report; the reasons stay. */
function limitLogs(builds: readonly ServerBuild[]): readonly ServerBuild[] {
  let left = LOG_BUDGET;
  return builds.map((build) => {
    left -= build.log === null ? 0 : Buffer.byteLength(JSON.stringify(build.log));
    return left >= 0 ? build : { ...build, log: null };
  });
}
