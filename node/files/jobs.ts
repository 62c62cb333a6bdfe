import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describeError, type Log } from '@portcullis/core/log.ts';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import type { Limiter } from '@portcullis/link/limiter.ts';
import type { FileAnswer, FileJob } from '@portcullis/link/messages/files.ts';
import { FileRefusal } from './refusal.ts';

/** Jobs of one server at once, those included that wait for a slot. */
const MAX_RUNNING = 3;
/** Jobs that are remembered after their end. */
const MAX_ENDED = 32;
const MAX_NOTES = 32;
/** The note of a job that waits for a slot of its node. */
export const WAITS = 'It waits for its turn on the node.';

/** A job as its work sees it. */
export interface RunningJob {
  /** The server whose files it works on. */
  readonly server: string;
  readonly signal: AbortSignal;
  /** Counts what was done. */
  add(done: { readonly bytes?: number; readonly entries?: number }): void;
  /** Says how many bytes it will have in the end. */
  expect(totalBytes: number): void;
  /** Says something to the caller, such as what was left out. */
  note(text: string): void;
}

/** The caller that began a job, by whose rights it goes on. */
export interface JobHolder {
  /** Null: not known, so its rights are those that it had. */
  readonly caller: string | null;
  /** Takes the rights that the caller has now. */
  narrow(rights: ReadonlySet<FileRight>): void;
}

export interface JobOrder extends Pick<FileJob, 'kind' | 'path'> {
  /** The rights that it needs as long as it runs. */
  readonly rights: readonly FileRight[];
  readonly holder: JobHolder;
}

interface Job {
  readonly order: JobOrder;
  readonly view: { -readonly [K in keyof FileJob]: FileJob[K] };
  readonly controller: AbortController;
  failure: FileRefusal | null;
  ended: Promise<void>;
}

export interface JobsOptions {
  readonly server: string;
  /** Slots of the whole node for a job, which servers share fairly. */
  readonly slotsOf: (kind: FileJob['kind']) => Limiter;
  /** Throws a refusal if the server's files cannot be reached now. */
  readonly requireReachable: () => void;
  readonly log: Log;
}

/** A job that was begun. */
export interface BegunJob {
  readonly id: string;
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<void>;
}

/** The long operations on one server's files: those that may outlast the call that began them. */
export class Jobs {
  readonly #jobs = new Map<string, Job>();
  readonly #options: JobsOptions;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /** Begins one, which waits for a slot of the node. Throws a refusal if too many run. */
  begin(order: JobOrder, work: (job: RunningJob) => Promise<void>): BegunJob {
    const { kind, path } = order;
    if (this.#running.length >= MAX_RUNNING) {
      const detail = `${MAX_RUNNING} long operations on the files of this server run already. Wait for one to end, or cancel one.`;
      throw new FileRefusal('busy', detail);
    }
    const id = randomUUID();
    const view = {
      id,
      kind,
      path,
      state: 'running' as FileJob['state'],
      startedAtMs: Date.now(),
      bytes: 0,
      totalBytes: null as number | null,
      entries: 0,
      notes: [] as string[],
    };
    const job: Job = {
      order,
      view,
      controller: new AbortController(),
      failure: null,
      ended: Promise.resolve(),
    };
    job.ended = this.#run(job, work);
    this.#jobs.set(id, job);
    return { id, ended: job.ended };
  }

  /** The outcome of a job that ends within this time: a refusal if it failed; else the job as it stands. */
  async answer(id: string, withinMs: number): Promise<FileAnswer> {
    const job = this.#find(id);
    await endedWithin(job, withinMs);
    const { failure, view } = job;
    if (failure === null) return { kind: 'job', job: view };
    return { kind: 'refused', code: failure.code, reason: failure.message };
  }

  list(): FileAnswer {
    return { kind: 'jobs', jobs: [...this.#jobs.values()].map(({ view }) => view).toReversed() };
  }

  /** Cancels one. Resolves when it has ended, or after this time, with the job as it stands. No-op for one that has ended. */
  async cancel(id: string, withinMs: number): Promise<FileAnswer> {
    const job = this.#find(id);
    job.controller.abort(new FileRefusal('impossible', 'It was cancelled.'));
    await endedWithin(job, withinMs);
    return { kind: 'job', job: job.view };
  }

  /** The callers whose jobs run. */
  get callers(): readonly string[] {
    const all = this.#running.flatMap(({ order }) => order.holder.caller ?? []);
    return [...new Set(all)];
  }

  /** Takes the rights that a caller has now. A job that needs another one ends. */
  narrow(caller: string, rights: ReadonlySet<FileRight>): void {
    for (const { order, controller } of this.#running) {
      if (order.holder.caller !== caller) continue;
      order.holder.narrow(rights);
      const ended = order.rights.find((right) => !rights.has(right));
      if (ended === undefined) continue;
      const detail = `The right ${ended} of the person or key that began it has ended.`;
      controller.abort(new FileRefusal('forbidden', detail));
    }
  }

  /** Ends all of them, as an agent that stops does. */
  async close(): Promise<void> {
    const ended = [...this.#jobs.values()].map((job) => {
      job.controller.abort(new FileRefusal('unavailable', 'The node was stopped.'));
      return job.ended;
    });
    await Promise.all(ended);
  }

  get #running(): readonly Job[] {
    return [...this.#jobs.values()].filter(({ view }) => view.state === 'running');
  }

  #find(id: string): Job {
    const job = this.#jobs.get(id);
    if (job === undefined) throw new FileRefusal('not_found', `There is no job ${id}.`);
    return job;
  }

  async #run(job: Job, work: (job: RunningJob) => Promise<void>): Promise<void> {
    const { view, controller } = job;
    const { signal } = controller;
    const { server, slotsOf, requireReachable } = this.#options;
    // Known to the caller before it begins.
    await Promise.resolve();
    const stopWaiting = (): void => {
      view.notes = view.notes.filter((note) => note !== WAITS);
    };
    const inTurn = (): Promise<void> => {
      stopWaiting();
      // It may have waited for long.
      requireReachable();
      return work(this.#viewOf(job));
    };
    const onWait = (): void => {
      view.notes = [WAITS];
    };
    try {
      await slotsOf(view.kind).run(async () => inTurn(), signal, { owner: server, onWait });
      view.state = 'done';
    } catch (error) {
      const reason = signal.aborted ? signal.reason : error;
      view.state = signal.aborted ? 'cancelled' : 'failed';
      job.failure = reason instanceof FileRefusal ? reason : this.#unexpected(error);
      stopWaiting();
      view.notes = [...view.notes, job.failure.message].slice(-MAX_NOTES);
    }
    this.#forgetOldest();
  }

  #viewOf({ view, controller }: Job): RunningJob {
    return {
      server: this.#options.server,
      signal: controller.signal,
      add({ bytes = 0, entries = 0 }) {
        view.bytes += bytes;
        view.entries += entries;
      },
      expect(totalBytes) {
        view.totalBytes = totalBytes;
      },
      note(text) {
        if (view.notes.length < MAX_NOTES) view.notes = [...view.notes, text];
      },
    };
  }

  #unexpected(error: unknown): FileRefusal {
    this.#options.log.error({ error: describeError(error) }, 'an operation on files failed');
    return new FileRefusal('unavailable', 'The node failed at this; its log says why.');
  }

  #forgetOldest(): void {
    const ended = [...this.#jobs.values()].filter(({ view }) => view.state !== 'running');
    for (const { view } of ended.slice(0, -MAX_ENDED)) this.#jobs.delete(view.id);
  }
}

async function endedWithin({ ended }: Job, withinMs: number): Promise<void> {
  const done = new AbortController();
  const timer = delay(withinMs, undefined, { signal: done.signal }).catch(() => undefined);
  await Promise.race([ended, timer]);
  done.abort();
}
