import { existsSync } from 'node:fs';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { LaunchSurroundings } from '@portcullis/core/game-servers/eggs/launch.ts';
import { launchParts } from '@portcullis/core/game-servers/eggs/launch-parts.ts';
import {
  isAtRest,
  isKnown,
  lastCrashMs,
  isUp,
  type MachineState,
  type PowerSettings,
  serverState,
} from '@portcullis/core/game-servers/machine-state.ts';
import { recover } from '@portcullis/core/game-servers/machine.ts';
import {
  type PowerSignal,
  type ServerAssignment,
  type ServerResources,
  SUSPENDED,
} from '@portcullis/core/game-servers/power.ts';
import type { Log } from '@portcullis/core/log.ts';
import { launchDigests } from '@portcullis/link/launch-digests.ts';
import type { NodeAnswer, ServerBuild } from '@portcullis/link/messages/node.ts';
import { build } from '../build/build.ts';
import { Builder } from '../build/builder.ts';
import type { ApplyConfigFiles } from '../config-files/apply.ts';
import type { GuardedServer } from '../disk/disk-guard.ts';
import type { DiskUse } from '../disk/measure.ts';
import {
  describeFailure,
  type Engine,
  EngineError,
  type Instance,
  type ListedInstance,
  isAlive,
  withTimeout,
} from '../engine/engine.ts';
import type { ServerSettings } from '../files/service.ts';
import type { Journal } from '../journal/journal.ts';
import { type LaunchedWith, launchOf, NEW_RECORD, type ServerRecord } from '../journal/record.ts';
import { serverFolder } from '../server-folder/folder.ts';
import type { ServerFolders } from '../server-folder/server-folders.ts';
import { EngineAdapter } from './engine-adapter.ts';
import { EventQueue } from './event-queue.ts';
import { InstanceConnection } from './instance-connection.ts';
import { launch } from './launch.ts';
import type { OfferedMount } from './mounts.ts';
import type { Limiter } from '@portcullis/link/limiter.ts';
import { resourcesOf } from './resources.ts';

const DISK_MS = 15_000;
const REMOVE_AGAIN_MS = 10_000;
/** A start without a done line counts as running after this time. */
const SLOW_START_MS = 5 * 60_000;
const BUILDING = 'The server is being built.';
const GONE = 'The server is no longer on this node.';
const NOT_BUILT =
  'The server is being built, or was not built: its files can be reached once it is.';
/** The settings of an instance of ours of which neither control nor the journal says anything. */
const UNKNOWN_SETTINGS = {
  crashes: { restart: false, withinMs: 60_000, tries: 1 },
  startWithHost: 'as_before',
  stopAfterMs: null,
} as const;
const UNKNOWN_LAUNCH: LaunchedWith = {
  done: [],
  stop: { kind: 'signal', signal: 'SIGTERM' },
  stopTimes: { termAfterMs: 60_000, killAfterMs: 60_000 },
  organisation: null,
  parts: {},
};

export interface ServerEvents {
  /** A build or the power of a server changed. */
  readonly onChange: () => void;
  /** Nothing but the files is left of a server that control no longer assigns to this node. */
  readonly onRemoved: (uuid: string) => void;
  /** Returns a sentence that says why a server may not start with its present disk use, or null. */
  readonly checkDisk: (server: GuardedServer, signal: AbortSignal) => Promise<string | null>;
}

/** Everything that all servers of a node share. */
export interface ServerDependencies extends LaunchSurroundings, ServerEvents {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly log: Log;
  readonly stateDir: string;
  readonly folders: ServerFolders;
  readonly applyConfigFiles: ApplyConfigFiles;
  readonly launches: Limiter;
  readonly builds: Limiter;
  /** Folders of this host for servers that name them. */
  readonly mounts: readonly OfferedMount[];
  /** Names the present boot of the host. */
  readonly bootId: string;
}

interface Desired {
  readonly assignment: ServerAssignment;
  /** Null if control did not send the egg that the assignment names. */
  readonly egg: Egg | null;
}

/** One game server on this node, from its assignment until its instance is removed. */
export class Server {
  readonly uuid: string;
  readonly #shared: ServerDependencies;
  readonly #connection: InstanceConnection;
  readonly #adapter: EngineAdapter;
  readonly #queue: EventQueue;
  readonly #builder: Builder;
  #removal: NodeJS.Timeout | 'in progress' | undefined;
  /** Null if the server is no longer assigned to this node; undefined until control or the journal has said. */
  #desired: Desired | null | undefined;
  #launched: LaunchedWith | null;
  /** The result of the last inspection. */
  #instance: Instance | null = null;
  /** Null until the folder was measured. */
  #diskBytes: number | null = null;
  /** The reason that was posted last. */
  #withheld: string | null;
  /** The organisation whose network it was restarted to leave. */
  #left: string | null = null;
  #closed = false;

  constructor(shared: ServerDependencies, uuid: string, record: ServerRecord = NEW_RECORD) {
    this.uuid = uuid;
    this.#shared = shared;
    this.#launched = record.launched;
    this.#withheld = record.machine.withheld;
    const { engine, log, launches, builds } = shared;
    this.#connection = new InstanceConnection(engine, uuid, () =>
      this.#queue.post({ kind: 'detached' }),
    );
    const isNewBoot = record.bootId !== '' && record.bootId !== shared.bootId;
    const recovered = recover(record.machine, isNewBoot);
    this.#queue = new EventQueue({
      state: recovered.state,
      context: () => ({ atMs: Date.now(), settings: this.#settings() }),
      save: () => this.#save(),
      perform: (effect) => this.#adapter.perform(effect),
      onChange: (state, before) => this.#onChange(state, before),
    });
    this.#adapter = new EngineAdapter({
      uuid,
      engine,
      connection: this.#connection,
      launches,
      log,
      check: (signal) => this.#checkDisk(signal),
      launch: (signal, run) => this.#launch(signal, run),
      launched: () => this.#launched ?? launchOf(this.#desired?.egg ?? null),
      post: (event) => this.#queue.post(event),
      onInspected: (instance) => {
        this.#instance = instance;
      },
    });
    this.#builder = new Builder({
      uuid,
      builds,
      log,
      record: record.build,
      save: async () => {
        await this.#save();
        shared.onChange();
        this.#reconcile();
      },
      build: async (output, signal) => {
        await build(this.#order(), output, signal);
        // Measured before `built` is reported, so that the reported disk use includes the install.
        await this.#checkDisk(signal).catch(() => {});
      },
      onOutput: () => shared.onChange(),
    });
    for (const effect of recovered.effects) this.#adapter.perform(effect);
  }

  /** `egg`: with what the server has in place of it (`withOwnStart`). */
  assign(assignment: ServerAssignment, egg: Egg | null): void {
    this.#desired = { assignment, egg };
    this.#reconcile();
  }

  /** Restarts a server that belongs to another organisation now: its instance is in the network of the former one. */
  #leaveOrganisation({ organisation }: ServerAssignment): void {
    const former = this.#launched?.organisation ?? organisation;
    const { state } = this.#queue;
    if (former === organisation || this.#left === former || !isKnown(state) || isAtRest(state))
      return;
    this.#left = former;
    this.#connection.console.say('The server has a new owner and is restarted.');
    this.#queue.post({ kind: 'signal', signal: 'restart' });
  }

  /**
   * Stops a server that is no longer assigned to this node, as its egg says, and removes its instance. Its files
   * stay.
   */
  retire(): void {
    this.#desired = null;
    this.#reconcile();
  }

  /** Detects a missed event by what the engine lists. */
  compare(instance: ListedInstance | null): void {
    if (isAlive(instance) === isAtRest(this.#queue.state)) this.onEngineEvent('changed');
  }

  onEngineEvent(kind: 'lost' | 'gap' | 'changed'): void {
    this.#queue.post({ kind });
  }

  /** The server as the disk guard sees it; null while its limit is not known. */
  get guardedServer(): GuardedServer | null {
    const limits = this.#desired?.assignment.limits;
    if (limits === undefined) return null;
    const { disk: limitMib, entries: limitEntries } = limits;
    const folder = serverFolder(this.#shared.stateDir, this.uuid);
    const game = isAtRest(this.#queue.state) ? 'nothing' : 'game';
    const writes = this.#builder.isRunning ? 'install' : game;
    return { uuid: this.uuid, folder, limitMib, limitEntries, writes };
  }

  /** The settings of its files, or a sentence that says why they cannot be reached now. */
  get fileSettings(): ServerSettings | string {
    const { assignment, egg } = this.#desired ?? {};
    if (assignment === undefined) return GONE;
    if (assignment.suspended) return SUSPENDED;
    if (this.#builder.isRunning || !this.#builder.isBuilt(assignment.buildEpoch)) return NOT_BUILT;
    const { disk: limitMib, entries: limitEntries } = assignment.limits;
    return { limitMib, limitEntries, denylist: egg?.fileDenylist ?? [] };
  }

  setDiskUse({ bytes }: DiskUse): void {
    this.#diskBytes = bytes;
  }

  /** Ends the install or the game of a server that is over its disk limit. */
  enforceDiskLimit(action: 'stop' | 'kill', reason: string): void {
    if (this.#builder.isRunning) return this.#builder.fail(`${reason} Its install was ended.`);
    this.#connection.console.say(reason);
    this.#shared.log.warn({ uuid: this.uuid, reason, action }, 'a server is over its disk limit');
    this.#queue.post({ kind: 'signal', signal: action });
  }

  /** Returns null if the caller's time had passed and nothing was begun. */
  async power(signal: PowerSignal, isExpired: () => boolean): Promise<NodeAnswer | null> {
    const answer = await this.#queue.signal(signal, isExpired);
    if (answer === null) return null;
    return answer.accepted ? { kind: 'accepted' } : refused(answer.reason);
  }

  describe(): NodeAnswer {
    const { state } = this.#queue;
    if (!isKnown(state)) return refused('The node does not know now whether the server runs.');
    const { problem } = state;
    const resources = this.#resources();
    return { kind: 'state', state: serverState(state), resources, problem, launched: this.#parts };
  }

  /** The digests of what its instance was launched with; null if it does not run, or an earlier version launched it. */
  get #parts(): LaunchedWith['parts'] | null {
    const parts = this.#launched?.parts ?? {};
    return isUp(this.#queue.state) && Object.keys(parts).length > 0 ? parts : null;
  }

  #resources(): ServerResources | null {
    return resourcesOf({
      runs: isUp(this.#queue.state),
      usage: this.#connection.usage,
      instance: this.#instance,
      diskBytes: this.#diskBytes,
      memoryMib: this.#desired?.assignment.limits.memory ?? 0,
      nowMs: Date.now(),
    });
  }

  async command(command: string, isExpired: () => boolean): Promise<NodeAnswer> {
    const { state } = this.#queue;
    const power = serverState(state);
    if (power !== 'running' || !isKnown(state)) {
      return refused(`The server is ${power}: only a running one takes commands.`);
    }
    const stop = this.#desired?.egg?.stop;
    if (stop?.kind === 'command' && command.trim() === stop.command) {
      // The same line as a stop would write, so its end is no crash.
      return (
        (await this.power('stop', isExpired)) ?? refused('The time for this command has passed.')
      );
    }
    try {
      await this.#connection.writeCommand(command, isExpired);
      return { kind: 'accepted' };
    } catch (error) {
      return refused(describeFailure(error));
    }
  }

  lines(last: number, colours: boolean): NodeAnswer {
    const { console } = this.#connection;
    const lines = colours ? console.lastColoured(last) : console.last(last);
    return { kind: 'lines', lines, lastNumber: console.lastNumber };
  }

  report(): ServerBuild {
    const { epoch, state, reason, log } = this.#builder.record;
    const desired = this.#desired?.assignment.buildEpoch ?? epoch;
    const waits = state === 'none' || epoch < desired;
    const machine = this.#queue.state;
    return {
      uuid: this.uuid,
      epoch: waits ? desired : epoch,
      // `building` until the server may be started: a reader of `built` may start it at once.
      state: waits ? 'waiting' : this.#queue.state.withheld === BUILDING ? 'building' : state,
      reason: waits ? this.#waitReason() : reason,
      log,
      power: serverState(machine),
      crashedAtMs: lastCrashMs(machine),
      resources: isUp(machine) && isKnown(machine) ? this.#resources() : null,
    };
  }

  #waitReason(): string | null {
    const { state } = this.#queue;
    if (!isKnown(state)) return 'The engine of this node does not answer.';
    return isAtRest(state) ? this.#builder.waitReason : 'The server is stopped first.';
  }

  /** Cancels work in progress, which the next agent starts again; the instance keeps running. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#removal !== 'in progress') clearTimeout(this.#removal);
    this.#builder.close();
    await this.#queue.close();
    this.#adapter.close();
  }

  /** Removes the instance of a server that is no longer assigned to this node. No-op while that is in progress. */
  async #remove(): Promise<void> {
    if (this.#removal === 'in progress') return;
    clearTimeout(this.#removal);
    this.#removal = 'in progress';
    const { uuid } = this;
    const { engine, log, onRemoved } = this.#shared;
    try {
      await engine.remove(uuid);
      this.#removal = undefined;
      if (this.#desired === null && !this.#closed) onRemoved(uuid);
    } catch (error) {
      log.warn({ uuid, error }, 'a server could not be removed');
      this.#removal = this.#closed
        ? undefined
        : setTimeout(() => {
            this.#removal = undefined;
            this.#reconcile();
          }, REMOVE_AGAIN_MS);
    }
  }

  #settings(): PowerSettings {
    const { done, stopTimes } = this.#launched ?? UNKNOWN_LAUNCH;
    const { crashes, startWithHost, stopAfterMs } = this.#desired?.assignment ?? UNKNOWN_SETTINGS;
    const termAfterMs = stopAfterMs ?? stopTimes.termAfterMs;
    return {
      hasDone: done.length > 0,
      slowStartMs: SLOW_START_MS,
      stopTimes: { ...stopTimes, termAfterMs },
      crashes,
      startWithHost,
    };
  }

  async #launch(signal: AbortSignal, run: number): Promise<void> {
    const { engine, applyConfigFiles, mounts } = this.#shared;
    const order = this.#order();
    const parts = launchDigests(launchParts(order.egg, order.assignment));
    const launched = { ...launchOf(order.egg, order.assignment.organisation), parts };
    this.#launched = launched;
    this.#left = null;
    await this.#save();
    this.#connection.watchDone(launched, () => this.#queue.post({ kind: 'done', run }));
    await launch(
      { ...order, engine, applyConfigFiles, mounts, connection: this.#connection },
      signal,
    );
  }

  /** Rejects if the server is over its disk limit. A folder that cannot be measured in time is left to the guard. */
  async #checkDisk(signal: AbortSignal): Promise<void> {
    const { guardedServer } = this;
    if (guardedServer === null) return;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(DISK_MS)]);
    const measured = this.#shared.checkDisk(guardedServer, inTime);
    const check = withTimeout('measure its folder', DISK_MS, measured);
    const refusal = await check.catch(() => null);
    if (refusal !== null) throw new EngineError('refused', refusal);
  }

  #order() {
    const { engine, folders } = this.#shared;
    const { assignment, egg } = this.#desired ?? { assignment: null, egg: null };
    if (assignment === null || egg === null) {
      throw new EngineError('refused', 'The node does not have the egg of the server.');
    }
    const folderBytes = (): number => this.#diskBytes ?? 0;
    return { engine, assignment, egg, folders, surroundings: this.#shared, folderBytes };
  }

  #onChange(state: MachineState, before: MachineState): void {
    const { console } = this.#connection;
    const power = serverState(state);
    if (power !== serverState(before)) {
      console.say(`The server is ${power}.`);
      this.#shared.log.info({ uuid: this.uuid, problem: state.problem }, `a server is ${power}`);
    }
    if (state.problem !== null && state.problem !== before.problem) console.say(state.problem);
    const { kind } = state.phase;
    if (kind !== before.phase.kind && (kind === 'offline' || kind === 'launching')) {
      this.#connection.close();
    }
    this.#shared.onChange();
    this.#reconcile();
  }

  /** Derives from the desired state whether the server must not run, must be built or must be removed. */
  #reconcile(): void {
    if (this.#closed || this.#desired === undefined) return;
    const { record } = this.#builder;
    if (record.state === 'none' && record.epoch === 0 && this.#desired !== null) {
      // An instance without a record of a build means that the journal was lost: the server was built. So it was if it is
      // restored after it was deleted.
      if (!isKnown(this.#queue.state)) return;
      const { isRestored, buildEpoch } = this.#desired.assignment;
      const hasFiles = isRestored && existsSync(serverFolder(this.#shared.stateDir, this.uuid));
      if (this.#instance !== null || hasFiles) this.#builder.assumeBuilt(buildEpoch);
    }
    const reason = this.#reasonToWithhold(this.#desired);
    if (reason !== this.#withheld) {
      this.#withheld = reason;
      this.#queue.post({ kind: 'withhold', reason });
    }
    if (this.#desired !== null) this.#leaveOrganisation(this.#desired.assignment);
    const { state } = this.#queue;
    if (!isKnown(state) || !isAtRest(state) || state.withheld === null) return;
    if (this.#desired === null) void this.#remove();
    else if (this.#desired.egg !== null) this.#builder.start(this.#desired.assignment.buildEpoch);
  }

  #reasonToWithhold(desired: Desired | null): string | null {
    if (desired === null) return GONE;
    const { suspended, buildEpoch } = desired.assignment;
    if (!this.#builder.isBuilt(buildEpoch)) {
      const { reason } = this.#builder.record;
      return this.#builder.isDue(buildEpoch) ? BUILDING : `The server was not built: ${reason}`;
    }
    return suspended ? SUSPENDED : null;
  }

  async #save(): Promise<void> {
    const record: ServerRecord = {
      machine: this.#queue.decidedState,
      build: this.#builder.record,
      launched: this.#launched,
      bootId: this.#shared.bootId,
    };
    try {
      await this.#shared.journal.saveRecord(this.uuid, record);
    } catch (error) {
      // A server must remain stoppable on a full disk.
      this.#shared.log.error({ uuid: this.uuid, error }, 'the journal could not be written');
    }
  }
}

function refused(reason: string): NodeAnswer {
  return { kind: 'refused', reason };
}
