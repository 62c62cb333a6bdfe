import { parseDenylist } from '@portcullis/core/game-servers/files/denylist.ts';
import { FILE_RIGHTS, type FileRight } from '@portcullis/core/access/server-rights.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { Limiter } from '@portcullis/link/limiter.ts';
import {
  type CallerOnServer,
  type FileAnswer,
  type FileAnswerOf,
  type FileCall,
  type FileOperation,
  type FileOperationOf,
  MAX_CHECKED_CALLERS,
} from '@portcullis/link/messages/files.ts';
import { parseAnswer } from '@portcullis/link/messages/messages.ts';
import type { DiskUse, MeasureDisk } from '../disk/measure.ts';
import { EngineError } from '../engine/engine.ts';
import { Refusal } from '../server-folder/folder.ts';
import type { ReadyFolder } from '../server-folder/server-folders.ts';
import { archive } from './archives/pack.ts';
import { unpack } from './archives/unpack.ts';
import { Gate, type Holder, type Performed, type ServerFiles } from './gate.ts';
import { Jobs } from './jobs.ts';
import { deleteFiles, emptyBin, expireBin, listBin, restore } from './operations/bin.ts';
import { makeFolder, move, setMode } from './operations/change.ts';
import { read, write } from './operations/content.ts';
import { copy } from './operations/copy.ts';
import { list } from './operations/list.ts';
import { measureFolder } from './operations/measure.ts';
import { pull, type PullLimits } from './operations/pull.ts';
import { search } from './operations/search.ts';
import { Quota } from './quota.ts';
import { diskFull, FileRefusal, isDiskFull, unknownOperation } from './refusal.ts';
import type { StreamRoute } from './streams/connect.ts';
import type { FileLinks } from './streams/links.ts';
import { isStreamOperation, performStream } from './streams/perform.ts';
import { expireUploads } from './streams/receive.ts';
import { Transfers } from './streams/transfers.ts';
import { removeContentBut } from './tree.ts';

/** Long jobs of the whole node at once; more wait, fairly between servers. */
const JOBS_AT_ONCE = 4;
/** The pace of a pull is that of a foreign host, which could hold its slot for hours. */
const PULL_SLOT_MS = 60_000;
/** Work on the disk takes as long as its size needs; the others must not wait for the largest. */
const DISK_SLOT_MS = 300_000;
/** Operations of one server at once; more wait. */
const MAX_AT_ONCE = 8;
/** Files of one server that are copied at once because they are opened to go on. */
const MAX_COPIES = 2;
/** The share of a call's time that an operation may take, so that its answer arrives. */
const WORK_SHARE = 0.8;
const SWEEP_MS = 3_600_000;
const FIRST_SWEEP_MS = 60_000;
/** Rights end by time too, and notices may be lost. */
const CHECK_MS = 30_000;
/** A job that runs this long is checked once, because its caller's rights may have ended just before it began. */
const FIRST_CHECK_MS = 250;
/** The node itself. */
const NODE: Holder = { rights: new Set(FILE_RIGHTS), caller: null };

/** Operations that change nothing leave no line of activity. */
const QUIET: ReadonlySet<FileOperation['kind']> = new Set([
  'list',
  'read',
  'search',
  'measure',
  'listBin',
  'listJobs',
  'tag',
  'send',
  'pack',
  'outcome',
  'uploaded',
]);

/** Control ends the link of a node whose answer has not its form, and a game makes files of any size and depth. */
function sayable(answer: FileAnswer): FileAnswer {
  const said = parseAnswer<FileCall>({ kind: 'node.files' }, answer);
  if (said.ok) return answer;
  const reason = `There are files that cannot be described: ${said.reason}. Look into a folder at a time.`;
  return { kind: 'refused', code: 'impossible', reason };
}

/** Operations that may outlast their call, and those on them. */
const JOB_KINDS = [
  'copy',
  'listJobs',
  'cancelJob',
  'archive',
  'unpack',
  'pull',
] as const satisfies readonly FileOperation['kind'][];

/** The folder of a server with its settings, or a sentence that says why its files cannot be reached now. */
export type FindServer = (uuid: string) => ServerSettings | string;

export interface ServerSettings {
  /** MiB; 0: unlimited. */
  readonly limitMib: number;
  /** Files, folders and links; 0, the default: what its disk allows. */
  readonly limitEntries?: number;
  readonly denylist: readonly string[];
}

export interface FileServiceOptions {
  readonly find: FindServer;
  /** Every server of the node. */
  readonly uuids: () => Iterable<string>;
  /** Opens the folder of a server. Rejects with `EngineError`. */
  readonly openFolder: (uuid: string) => Promise<ReadyFolder>;
  /** Measures a server's folder now, which `measured` then takes. */
  readonly measureServer: (uuid: string) => Promise<unknown>;
  readonly measure: MeasureDisk;
  readonly pulls: PullLimits;
  /** Asks control for the rights to files that callers have now. Rejects if it does not answer. */
  readonly checkCallers: (
    callers: readonly CallerOnServer[],
  ) => Promise<readonly (readonly FileRight[])[]>;
  /** For tests. */
  readonly callersAtOnce?: number;
  /** How streams reach control. */
  readonly route: StreamRoute;
  /** Links to this node; null: it has no public URL. */
  readonly links: FileLinks | null;
  readonly log: Log;
}

export interface FileActivity {
  readonly door: 'link' | 'sftp' | 'url';
  readonly operation: string;
  readonly path?: string;
  readonly outcome: string;
}

interface Shared
  extends Pick<
    ServerFiles,
    'quota' | 'jobs' | 'transfers' | 'beginnings' | 'changes' | 'copies' | 'inUse'
  > {
  limitMib: number;
  limitEntries: number;
  readonly slots: Limiter;
  readonly sweeps: Limiter;
}

/** The files of all servers of a node: every door calls `run`. */
export class FileService {
  readonly #options: FileServiceOptions;
  readonly #pulls = new Limiter(JOBS_AT_ONCE, { slotMs: PULL_SLOT_MS });
  /** Jobs that read and write the disk: copies, archives, unpacks. */
  readonly #diskJobs = new Limiter(JOBS_AT_ONCE, { slotMs: DISK_SLOT_MS });
  readonly #servers = new Map<string, Shared>();
  readonly #sweeps = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[] = [];
  #checking: Promise<void> | null = null;

  constructor(options: FileServiceOptions) {
    this.#options = options;
  }

  /** Starts to remove what deleted files and a killed agent left. */
  start(): void {
    const sweep = (): void => void this.sweep();
    this.#timers.push(
      setTimeout(sweep, FIRST_SWEEP_MS).unref(),
      setInterval(sweep, SWEEP_MS).unref(),
      setInterval(() => void this.checkRights(), CHECK_MS).unref(),
    );
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#servers.values()].map(endWork));
    await Promise.all(this.#sweeps);
  }

  /** Forgets a server that is no longer on this node. */
  async forget(uuid: string): Promise<void> {
    const shared = this.#servers.get(uuid);
    this.#servers.delete(uuid);
    if (shared !== undefined) await endWork(shared);
  }

  /** Takes a measurement of a server's folder that began at this time. */
  measured(uuid: string, use: DiskUse, startedAtMs: number): void {
    this.#shared(uuid).quota.measured(use, startedAtMs);
  }

  /** Never rejects: refusals are answers. Null if the time of the call has passed before it began. */
  async run(call: FileCall): Promise<FileAnswer | null> {
    const { uuid, operation, rights, actor, caller, withinMs } = call;
    const untilMs = performance.now() + withinMs * WORK_SHARE;
    const signal = AbortSignal.timeout(withinMs * WORK_SHARE);
    const holder = { rights: new Set(rights), caller };
    const made = await this.#answer(uuid, operation, holder, signal, untilMs);
    const answer = made && sayable(made);
    if (answer !== null && !QUIET.has(operation.kind)) {
      const outcome = answer.kind === 'refused' ? answer.code : 'done';
      this.record(uuid, actor, { door: 'link', operation: operation.kind, outcome });
    }
    return answer;
  }

  /**
   * Work of a caller that is connected to this node, through a gate of its own, which is open as long as anything holds it.
   * Rejects with what `refusalOf` words.
   */
  use<T>(
    uuid: string,
    { rights, caller = null }: Pick<Holder, 'rights'> & Partial<Holder>,
    work: (gate: Gate) => Promise<T>,
  ): Promise<T> {
    return this.#shared(uuid).slots.run(async () => {
      const gate = await this.#open(uuid, { rights, caller });
      try {
        return await work(gate);
      } finally {
        void gate.close();
      }
    });
  }

  /** Words why an operation was not done, for the caller. */
  refusalOf(uuid: string, error: unknown): Pick<FileAnswerOf<'refused'>, 'code' | 'reason'> {
    if (error instanceof FileRefusal) return { code: error.code, reason: error.message };
    if (isDiskFull(error)) return this.refusalOf(uuid, diskFull(error));
    if (error instanceof EngineError) return { code: 'unavailable', reason: error.message };
    if (error instanceof Refusal) {
      return { code: 'impossible', reason: `The files cannot be used: ${error.message}.` };
    }
    this.#options.log.error({ uuid, error: describeError(error) }, 'an operation on files failed');
    return { code: 'unavailable', reason: 'The node failed at this; its log says why.' };
  }

  /** Asks control for the rights of those whose jobs run, and ends the jobs of those that lost them. Never rejects. */
  async checkRights(): Promise<void> {
    // One that runs may have read what was before.
    await this.#checking;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { callersAtOnce = MAX_CHECKED_CALLERS } = this.#options;
    const all = [...this.#servers].flatMap(([server, { jobs, transfers }]) =>
      [...new Set([...jobs.callers, ...transfers.callers])].map((caller) => ({ server, caller })),
    );
    for (let at = 0; at < all.length; at += callersAtOnce)
      await this.#checkPage(all.slice(at, at + callersAtOnce));
  }

  /** Never rejects: a page that fails holds back no other one. */
  async #checkPage(callers: readonly CallerOnServer[]): Promise<void> {
    try {
      const rights = await this.#options.checkCallers(callers);
      for (const [index, { server, caller }] of callers.entries()) {
        const own = new Set(rights[index]);
        this.#servers.get(server)?.jobs.narrow(caller, own);
        this.#servers.get(server)?.transfers.narrow(caller, own);
      }
    } catch (error) {
      this.#options.log.debug({ error }, 'the rights of running jobs were not checked');
    }
  }

  /** The line of activity: what was done to the files, by whom, and by which door. */
  record(uuid: string, actor: string, what: FileActivity): void {
    this.#options.log.info({ uuid, actor, ...what }, 'files of a server were changed');
  }

  async #answer(
    uuid: string,
    operation: FileOperation,
    holder: Holder,
    signal: AbortSignal,
    untilMs: number,
  ): Promise<FileAnswer | null> {
    try {
      const { slots } = this.#shared(uuid);
      const performed = await slots.run(async () => {
        const gate = await this.#open(uuid, holder);
        try {
          return await this.#perform(gate, operation, signal, untilMs);
        } finally {
          // A job may use it beyond this call.
          void gate.close();
        }
      }, signal);
      return typeof performed === 'function' ? await performed() : performed;
    } catch (error) {
      if (error === signal.reason) return null;
      return { kind: 'refused', ...this.refusalOf(uuid, error) };
    }
  }

  async #open(uuid: string, holder: Holder): Promise<Gate> {
    const { find, openFolder } = this.#options;
    const settings = find(uuid);
    if (typeof settings === 'string') throw new FileRefusal('unavailable', settings);
    const { folder, owner } = await openFolder(uuid);
    const shared = this.#shared(uuid);
    shared.limitMib = settings.limitMib;
    shared.limitEntries = settings.limitEntries ?? 0;
    const { quota, jobs, transfers, beginnings, changes, copies, inUse } = shared;
    const denylist = parseDenylist(settings.denylist);
    const sweep = (): void => this.#sweepSoon(uuid);
    const own = { uuid, folder, owner, denylist, sweep };
    const limits = { quota, jobs, transfers, beginnings, changes, copies, inUse };
    return Gate.open({ ...own, ...limits }, holder);
  }

  #perform(
    gate: Gate,
    operation: FileOperation,
    signal: AbortSignal,
    untilMs: number,
  ): Promise<Performed> {
    const leftMs = (): number => Math.max(0, untilMs - performance.now());
    if (isStreamOperation(operation)) return performStream(gate, operation, this.#options, leftMs);
    if (isOf(operation, JOB_KINDS)) return this.#performJob(gate, operation, leftMs);
    switch (operation.kind) {
      case 'list':
        return list(gate, operation);
      case 'read':
        return read(gate, operation);
      case 'write':
        return write(gate, operation);
      case 'move':
        return move(gate, operation);
      case 'delete':
        return deleteFiles(gate, operation);
      case 'makeFolder':
        return makeFolder(gate, operation);
      case 'setMode':
        return setMode(gate, operation);
      case 'search':
        return search(gate, operation, signal);
      case 'measure':
        return measureFolder(gate, operation, this.#options.measure, signal);
      case 'listBin':
        return listBin(gate);
      case 'restore':
        return restore(gate, operation);
      case 'emptyBin':
        return emptyBin(gate, operation);
      default:
        throw unknownOperation();
    }
  }

  #performJob(
    gate: Gate,
    operation: FileOperationOf<(typeof JOB_KINDS)[number]>,
    leftMs: () => number,
  ): Promise<Performed> {
    const { jobs } = gate.files;
    const answerJob = (id: string) => (): Promise<FileAnswer> => {
      setTimeout(() => void this.checkRights(), FIRST_CHECK_MS).unref();
      return jobs.answer(id, leftMs());
    };
    switch (operation.kind) {
      case 'copy':
        return copy(gate, operation).then(answerJob);
      case 'listJobs':
        gate.require('file.read');
        return Promise.resolve(jobs.list());
      case 'cancelJob':
        gate.requireAny('file.create', 'file.archive');
        return Promise.resolve(() => jobs.cancel(operation.id, leftMs()));
      case 'archive':
        return archive(gate, operation).then(answerJob);
      case 'unpack':
        return unpack(gate, operation).then(answerJob);
      case 'pull':
        return pull(gate, operation, this.#options.pulls).then(answerJob);
      default:
        throw unknownOperation();
    }
  }

  #shared(uuid: string): Shared {
    const known = this.#servers.get(uuid);
    if (known !== undefined) return known;
    const shared: Shared = {
      limitMib: 0,
      limitEntries: 0,
      quota: new Quota({
        limitMib: () => shared.limitMib,
        limitEntries: () => shared.limitEntries,
        measure: () => this.#options.measureServer(uuid),
      }),
      jobs: this.#jobsOf(uuid),
      transfers: new Transfers(this.#options.log),
      beginnings: new Limiter(1),
      changes: new Limiter(1),
      copies: new Limiter(MAX_COPIES),
      inUse: new Set(),
      slots: new Limiter(MAX_AT_ONCE),
      sweeps: new Limiter(1),
    };
    this.#servers.set(uuid, shared);
    return shared;
  }

  #jobsOf(server: string): Jobs {
    const { find, log } = this.#options;
    return new Jobs({
      server,
      slotsOf: (kind) => (kind === 'pull' ? this.#pulls : this.#diskJobs),
      requireReachable: () => {
        const settings = find(server);
        if (typeof settings === 'string') throw new FileRefusal('unavailable', settings);
      },
      log,
    });
  }

  /** Removes the leftovers of one server, after sweeps of it that run. */
  #sweepSoon(uuid: string): void {
    const sweep = this.#shared(uuid)
      .sweeps.run(() => this.#sweep(uuid))
      .catch((error: unknown) => {
        this.#options.log.warn(
          { uuid, error: describeError(error) },
          'deleted files were not removed',
        );
      });
    this.#sweeps.add(sweep);
    void sweep.finally(() => this.#sweeps.delete(sweep));
  }

  /** Removes leftovers of all servers. */
  async sweep(): Promise<void> {
    for (const uuid of this.#options.uuids()) {
      this.#sweepSoon(uuid);
      await Promise.all(this.#sweeps);
    }
  }

  async #sweep(uuid: string): Promise<void> {
    if (typeof this.#options.find(uuid) === 'string') return;
    const gate = await this.#open(uuid, NODE);
    try {
      if (!(await gate.hasWork())) return;
      await expireBin(gate, Date.now());
      await expireUploads(gate, Date.now());
      await removeContentBut(await gate.work('tmp'), gate.files.inUse);
    } finally {
      await gate.close();
    }
  }
}

async function endWork({ jobs, transfers }: Shared): Promise<void> {
  await Promise.all([jobs.close(), transfers.close()]);
}

function isOf<K extends FileOperation['kind']>(
  operation: FileOperation,
  kinds: readonly K[],
): operation is FileOperationOf<K> {
  return (kinds as readonly string[]).includes(operation.kind);
}
