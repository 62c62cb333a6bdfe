import { recover } from '@portcullis/core/game-servers/machine.ts';
import {
  isAtRest,
  isKnown,
  isUp,
  type MachineState,
  type PowerSettings,
  serverState,
} from '@portcullis/core/game-servers/machine-state.ts';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { LaunchSurroundings } from '@portcullis/core/game-servers/eggs/launch.ts';
import type { PowerSignal, ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { CallAnswer, ServerBuild } from '@portcullis/link/messages/node.ts';
import { bounded, type Engine, EngineError, type Instance, sentenceOf } from '../engine/engine.ts';
import { build } from '../build/build.ts';
import { Builder } from '../build/builder.ts';
import type { ApplyConfigFiles } from '../config-files/apply.ts';
import { encodeCommand, Terminal } from './instance-connection.ts';
import type { GuardedServer } from '../disk/disk-guard.ts';
import type { DiskUse } from '../disk/measure.ts';
import type { Journal } from '../journal/journal.ts';
import { type LaunchedWith, NEW_RECORD, type ServerRecord } from '../journal/record.ts';
import type { Limiter } from './limiter.ts';
import { launch } from './launch.ts';
import { Mailbox } from './event-queue.ts';
import { Removal } from './removal.ts';
import { isAlive, resourcesOf } from './resources.ts';
import { Rim } from './engine-adapter.ts';
import { type Owner, serverFolder } from '../server-folder/folder.ts';

const DISK_MS = 15_000;
const BUILDING = 'The server is being built.';
const GONE = 'The server is no longer on this node.';
/** Of an instance that is ours and of which nothing else is known. */
const UNKNOWN_CRASHES = { restart: false, withinMs: 60_000 } as const;
const UNKNOWN_LAUNCH: LaunchedWith = {
  done: [],
  stop: { kind: 'signal', signal: 'SIGTERM' },
  stopTimes: { termAfterMs: 60_000, killAfterMs: 60_000 },
};

/** What all servers of a node have in common. */
export interface ServerSurroundings extends LaunchSurroundings {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly log: Log;
  readonly stateDir: string;
  /** Whom games run as, and their files belong to; null: whoever runs this. */
  readonly owner: Owner | null;
  readonly applyConfigFiles: ApplyConfigFiles;
  readonly launches: Limiter;
  readonly builds: Limiter;
  /** A start without a done line counts as running after so long. */
  readonly slowStartMs: number;
  readonly nowMs: () => number;
  /** A build changed, or the power of a server. */
  readonly onNews: () => void;
  /** Why a server may not start with what it has on the disk now, a sentence; null: it may. */
  readonly checkDisk: (server: GuardedServer) => Promise<string | null>;
  /** Nothing is left of a server that is no longer of this node, but its files. */
  readonly onGone: (uuid: string) => void;
}

interface Wanted {
  readonly assignment: ServerAssignment;
  /** null: control named one that it did not send. */
  readonly egg: Egg | null;
}

/** One game server on this node, from its assignment on until nothing of it runs any more. */
export class Server {
  readonly uuid: string;
  readonly #around: ServerSurroundings;
  readonly #terminal: Terminal;
  readonly #rim: Rim;
  readonly #mailbox: Mailbox;
  readonly #builder: Builder;
  readonly #removal: Removal;
  /** null: it is no longer of this node; undefined: nobody has said yet. */
  #wanted: Wanted | null | undefined;
  #launched: LaunchedWith | null;
  /** As the last inspection found it. */
  #instance: Instance | null = null;
  /** null: nobody measured it yet. */
  #diskBytes: number | null = null;
  /** As it was posted last. */
  #withheld: string | null;
  #closed = false;

  constructor(around: ServerSurroundings, uuid: string, kept: ServerRecord = NEW_RECORD) {
    this.uuid = uuid;
    this.#around = around;
    this.#launched = kept.launched;
    this.#withheld = kept.machine.withheld;
    const { engine, log, launches, builds } = around;
    this.#terminal = new Terminal(engine, uuid, () => this.#mailbox.post({ kind: 'detached' }));
    const begun = recover(kept.machine);
    this.#mailbox = new Mailbox({
      state: begun.state,
      context: () => ({ atMs: around.nowMs(), settings: this.#settings() }),
      save: () => this.#save(),
      perform: (effect) => this.#rim.perform(effect),
      onChange: (state, before) => this.#changed(state, before),
    });
    this.#rim = new Rim({
      uuid,
      engine,
      terminal: this.#terminal,
      launches,
      log,
      launch: (signal, run) => this.#launch(signal, run),
      launched: () => this.#launched ?? launchedWith(this.#wanted?.egg ?? null),
      post: (event) => this.#mailbox.post(event),
      found: (instance) => {
        this.#instance = instance;
      },
    });
    this.#builder = new Builder({
      uuid,
      builds,
      log,
      record: kept.build,
      keep: async () => {
        await this.#save();
        around.onNews();
        this.#consider();
      },
      build: async (signal) => {
        await build(this.#order(), signal);
        // What it is told of it from now on is so.
        await this.#checkDisk().catch(() => {});
      },
    });
    this.#removal = this.#createRemoval();
    for (const effect of begun.effects) this.#rim.perform(effect);
  }

  /** As control wants it now. */
  assign(assignment: ServerAssignment, egg: Egg | null): void {
    this.#wanted = { assignment, egg };
    this.#consider();
  }

  /** It is no longer of this node: it is stopped as a person would, and its instance removed. Its files stay. */
  retire(): void {
    this.#wanted = null;
    this.#consider();
  }

  /** What the engine lists: an event that was missed is made up for. */
  seen(instance: Instance | null): void {
    if (isAlive(instance) === isAtRest(this.#mailbox.state)) this.heard('changed');
  }

  heard(kind: 'lost' | 'gap' | 'changed'): void {
    this.#mailbox.post({ kind });
  }

  /** For the guard of the disk; null: nobody has said yet what it may have. */
  get guarded(): GuardedServer | null {
    const limitMib = this.#wanted?.assignment.limits.disk;
    if (limitMib === undefined) return null;
    const folder = serverFolder(this.#around.stateDir, this.uuid);
    const game = isAtRest(this.#mailbox.state) ? 'nothing' : 'game';
    const writes = this.#builder.isUnderWay ? 'install' : game;
    return { uuid: this.uuid, folder, limitMib, writes };
  }

  measured({ bytes }: DiskUse): void {
    this.#diskBytes = bytes;
  }

  /** It has more on the disk than it may. */
  endOverDisk(action: 'stop' | 'kill', reason: string): void {
    if (this.#builder.isUnderWay) return this.#builder.end(`${reason} Its install was ended.`);
    this.#terminal.console.say(reason);
    this.#around.log.warn({ uuid: this.uuid, reason }, `a server is told to ${action}`);
    this.#mailbox.post({ kind: 'signal', signal: action });
  }

  /** null: nobody waits for the answer any more, and nothing was begun. */
  async power(signal: PowerSignal, isLate: () => boolean): Promise<CallAnswer | null> {
    const answer = await this.#mailbox.ask(signal, isLate);
    if (answer === null) return null;
    return answer.accepted ? { kind: 'accepted' } : refused(answer.reason);
  }

  look(): CallAnswer {
    const { state } = this.#mailbox;
    if (!isKnown(state)) return refused('The node does not know now whether the server runs.');
    const resources = resourcesOf({
      runs: isUp(state),
      usage: this.#terminal.usage,
      instance: this.#instance,
      diskBytes: this.#diskBytes,
      memoryMib: this.#wanted?.assignment.limits.memory ?? 0,
      nowMs: this.#around.nowMs(),
    });
    return { kind: 'state', state: serverState(state), resources, problem: state.problem };
  }

  async command(command: string, isLate: () => boolean): Promise<CallAnswer> {
    const { state } = this.#mailbox;
    const power = serverState(state);
    if (power !== 'running' || !isKnown(state)) {
      return refused(`The server is ${power}: only a running one takes commands.`);
    }
    try {
      await this.#terminal.write(encodeCommand(command), isLate);
      return { kind: 'accepted' };
    } catch (error) {
      return refused(sentenceOf(error));
    }
  }

  lines(last: number): CallAnswer {
    const { console } = this.#terminal;
    return { kind: 'lines', lines: console.last(last), lastNumber: console.lastNumber };
  }

  report(): ServerBuild {
    const { epoch, state, reason, log } = this.#builder.record;
    const wanted = this.#wanted?.assignment.buildEpoch ?? epoch;
    const waits = state === 'none' || epoch < wanted;
    return {
      uuid: this.uuid,
      epoch: waits ? wanted : epoch,
      // Until it may be started: whoever reads `built` starts it at once.
      state: waits ? 'waiting' : this.#mailbox.state.withheld === BUILDING ? 'building' : state,
      reason: waits ? this.#waitsFor() : reason,
      log,
      power: serverState(this.#mailbox.state),
    };
  }

  #waitsFor(): string | null {
    const { state } = this.#mailbox;
    if (!isKnown(state)) return 'The engine of this node does not answer.';
    return isAtRest(state) ? this.#builder.waitsFor : 'The server is stopped first.';
  }

  /** What runs keeps running; what is under way is given up, and begun again by the agent that comes next. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#removal.close();
    this.#builder.close();
    await this.#mailbox.close();
    this.#rim.close();
  }

  #createRemoval(): Removal {
    const { engine, log, onGone } = this.#around;
    return new Removal({
      uuid: this.uuid,
      engine,
      log,
      onGone: () => {
        if (this.#wanted === null && !this.#closed) onGone(this.uuid);
      },
      onAgain: () => this.#consider(),
    });
  }

  #settings(): PowerSettings {
    const { done, stopTimes } = this.#launched ?? UNKNOWN_LAUNCH;
    return {
      hasDone: done.length > 0,
      slowStartMs: this.#around.slowStartMs,
      stopTimes,
      crashes: this.#wanted?.assignment.crashes ?? UNKNOWN_CRASHES,
    };
  }

  async #launch(signal: AbortSignal, run: number): Promise<void> {
    const { engine, applyConfigFiles } = this.#around;
    const order = this.#order();
    const launched = launchedWith(order.egg);
    this.#launched = launched;
    await this.#save();
    await this.#checkDisk();
    this.#terminal.watchDone(launched, () => this.#mailbox.post({ kind: 'done', run }));
    await launch({ ...order, engine, applyConfigFiles, terminal: this.#terminal }, signal);
  }

  /** What cannot be measured in time is left to the guard, which goes on measuring. */
  async #checkDisk(): Promise<void> {
    const { guarded } = this;
    if (guarded === null) return;
    const check = bounded('measure its folder', DISK_MS, this.#around.checkDisk(guarded));
    const refusal = await check.catch(() => null);
    if (refusal !== null) throw new EngineError('refused', refusal);
  }

  #order() {
    const { engine, stateDir, owner } = this.#around;
    const { assignment, egg } = this.#wanted ?? { assignment: null, egg: null };
    if (assignment === null || egg === null) {
      throw new EngineError('refused', 'The node does not have the egg of the server.');
    }
    const folder = serverFolder(stateDir, this.uuid);
    return { engine, assignment, egg, folder, owner, surroundings: this.#around };
  }

  #changed(state: MachineState, before: MachineState): void {
    const { console } = this.#terminal;
    const power = serverState(state);
    if (power !== serverState(before)) {
      console.say(`The server is ${power}.`);
      this.#around.log.info({ uuid: this.uuid, problem: state.problem }, `a server is ${power}`);
    }
    if (state.problem !== null && state.problem !== before.problem) console.say(state.problem);
    if (state.paused && !before.paused) console.say('Somebody paused the server.');
    const { kind } = state.phase;
    if (kind !== before.phase.kind && (kind === 'offline' || kind === 'launching')) {
      this.#terminal.close();
    }
    this.#around.onNews();
    this.#consider();
  }

  /** Why it must not run, what is to be built, what is to be removed: all of it follows from what is wanted now. */
  #consider(): void {
    if (this.#closed || this.#wanted === undefined) return;
    const { record } = this.#builder;
    if (record.state === 'none' && record.epoch === 0 && this.#wanted !== null) {
      // Nothing is known of a build: there was none, unless what it makes is there. Then the journal was lost.
      if (!isKnown(this.#mailbox.state)) return;
      if (this.#instance !== null) this.#builder.assume(this.#wanted.assignment.buildEpoch);
    }
    const reason = this.#reasonToWithhold(this.#wanted);
    if (reason !== this.#withheld) {
      this.#withheld = reason;
      this.#mailbox.post({ kind: 'withhold', reason });
    }
    const { state } = this.#mailbox;
    if (!isKnown(state) || !isAtRest(state) || state.withheld === null) return;
    if (this.#wanted === null) this.#removal.begin();
    else if (this.#wanted.egg !== null) this.#builder.begin(this.#wanted.assignment.buildEpoch);
  }

  #reasonToWithhold(wanted: Wanted | null): string | null {
    if (wanted === null) return GONE;
    const { suspended, buildEpoch } = wanted.assignment;
    if (!this.#builder.isBuilt(buildEpoch)) {
      const { reason } = this.#builder.record;
      return this.#builder.isDue(buildEpoch) ? BUILDING : `The server was not built: ${reason}`;
    }
    return suspended ? 'The server is suspended.' : null;
  }

  async #save(): Promise<void> {
    const kept: ServerRecord = {
      machine: this.#mailbox.decided,
      build: this.#builder.record,
      launched: this.#launched,
    };
    try {
      await this.#around.journal.saveRecord(this.uuid, kept);
    } catch (error) {
      // A full disk must not keep anybody from stopping a server.
      this.#around.log.error({ uuid: this.uuid, error }, 'the journal could not be written');
    }
  }
}

function launchedWith(egg: Egg): LaunchedWith;
function launchedWith(egg: Egg | null): LaunchedWith | null;
function launchedWith(egg: Egg | null): LaunchedWith | null {
  return egg && { done: egg.done, stop: egg.stop, stopTimes: egg.stopTimes };
}

function refused(reason: string): CallAnswer {
  return { kind: 'refused', reason };
}
