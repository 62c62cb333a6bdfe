import { setTimeout as delay } from 'node:timers/promises';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import type { FileAnswer, FileAnswerOf } from '@portcullis/link/messages/files.ts';
import type { JobHolder } from '../jobs.ts';
import { diskFull, FileRefusal, isDiskFull } from '../refusal.ts';

/** Streams of one server at once. */
const MAX_OPEN = 16;
/** Streams whose outcome is remembered: control asks for it at once. */
const MAX_ENDED = 64;

/** How far an upload is. */
export type Received = Pick<FileAnswerOf<'received'>, 'received' | 'size' | 'isWhole'>;

/** The right that a stream needs as long as it runs. */
export interface Watch {
  readonly holder: JobHolder;
  readonly right: FileRight;
}

interface Transfer {
  readonly controller: AbortController;
  readonly key: string | null;
  /** The right that the node checks as long as it runs; null: control checks. */
  readonly watch: Watch | null;
  isOpen: boolean;
  /** The result of the stream, or why there is none. */
  outcome: Received | FileRefusal;
  ended: Promise<void>;
}

const NOTHING: Received = { received: 0, size: null, isWhole: false };

/** The streams of one server's files: each outlasts the call that began it. */
export class Transfers {
  readonly #transfers = new Map<string, Transfer>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Throws a refusal if no other stream can begin now. */
  requireRoom(): void {
    const open = [...this.#transfers.values()].filter(({ isOpen }) => isOpen);
    if (open.length < MAX_OPEN) return;
    const detail = `${MAX_OPEN} uploads and downloads of this server run already. Wait for one to end.`;
    throw new FileRefusal('busy', detail);
  }

  /** Begins one. `key` names the upload that it goes on with, of which a newer one takes the place. */
  begin(
    id: string,
    key: string | null,
    work: (signal: AbortSignal) => Promise<Received | null>,
    watch: Watch | null = null,
  ): Promise<void> {
    const transfer: Transfer = {
      controller: new AbortController(),
      key,
      watch,
      isOpen: true,
      outcome: NOTHING,
      ended: Promise.resolve(),
    };
    transfer.ended = this.#run(transfer, work);
    this.#transfers.set(id, transfer);
    return transfer.ended;
  }

  /** Ends the upload of this key, and resolves when it writes no more. */
  async end(key: string): Promise<void> {
    const open = [...this.#transfers.values()].filter((one) => one.isOpen && one.key === key);
    const reason = new FileRefusal('impossible', 'Another upload of this file has begun.');
    await Promise.all(open.map((one) => abort(one, reason)));
  }

  /** The keys of uploads that run. */
  get keys(): ReadonlySet<string> {
    const open = [...this.#transfers.values()].filter(({ isOpen }) => isOpen);
    return new Set(open.flatMap(({ key }) => key ?? []));
  }

  /** The outcome of one that ends within this time, or that it is still open. */
  async outcome(id: string, withinMs: number): Promise<FileAnswer> {
    const transfer = this.#transfers.get(id);
    if (transfer === undefined) {
      const detail = 'The node was restarted meanwhile. Go on from what it has received.';
      throw new FileRefusal('lost', detail);
    }
    const done = new AbortController();
    const timer = delay(withinMs, undefined, { signal: done.signal }).catch(() => undefined);
    await Promise.race([transfer.ended, timer]);
    done.abort();
    const { outcome, isOpen } = transfer;
    if (outcome instanceof FileRefusal) throw outcome;
    return { kind: 'received', ...outcome, isOpen };
  }

  /** The result of a stream when it has ended. Rejects with why there is none. */
  async ended(id: string): Promise<Received> {
    const transfer = this.#transfers.get(id);
    await transfer?.ended;
    const outcome = transfer?.outcome ?? NOTHING;
    if (outcome instanceof FileRefusal) throw outcome;
    return outcome;
  }

  /** The callers of streams by links that run. */
  get callers(): readonly string[] {
    const open = [...this.#transfers.values()].filter(({ isOpen }) => isOpen);
    return [...new Set(open.flatMap(({ watch }) => watch?.holder.caller ?? []))];
  }

  /** Takes the rights that a caller has now. A stream that needs another one ends. */
  narrow(caller: string, rights: ReadonlySet<FileRight>): void {
    for (const { watch, isOpen, controller } of this.#transfers.values()) {
      if (!isOpen || watch?.holder.caller !== caller) continue;
      watch.holder.narrow(rights);
      if (rights.has(watch.right)) continue;
      const detail = `The right ${watch.right} of the person or key that began it has ended.`;
      controller.abort(new FileRefusal('forbidden', detail));
    }
  }

  /** Ends all of them, as an agent that stops does. */
  async close(): Promise<void> {
    const open = [...this.#transfers.values()].filter(({ isOpen }) => isOpen);
    const reason = new FileRefusal('lost', 'The node was stopped.');
    await Promise.all(open.map((one) => abort(one, reason)));
  }

  async #run(
    transfer: Transfer,
    work: (signal: AbortSignal) => Promise<Received | null>,
  ): Promise<void> {
    const { signal } = transfer.controller;
    try {
      transfer.outcome = (await work(signal)) ?? NOTHING;
    } catch (error) {
      transfer.outcome = refusalOf(signal.aborted ? signal.reason : error);
      this.#log.debug({ error: describeError(error) }, 'a stream of files ended early');
    }
    transfer.isOpen = false;
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    const ended = [...this.#transfers].filter(([, { isOpen }]) => !isOpen);
    for (const [id] of ended.slice(0, -MAX_ENDED)) this.#transfers.delete(id);
  }
}

function abort({ controller, ended }: Transfer, reason: FileRefusal): Promise<void> {
  controller.abort(reason);
  return ended;
}

function refusalOf(error: unknown): FileRefusal {
  if (error instanceof FileRefusal) return error;
  if (isDiskFull(error)) return diskFull(error);
  return new FileRefusal('lost', 'The connection between node and control broke off.', {
    cause: error,
  });
}
