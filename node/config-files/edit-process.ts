import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EditAnswer, EditOrder } from './edit-worker.ts';

/** A process takes some tenths of a second to start, and an idle one uses memory. */
const IDLE_MS = 1_000;
const BEGIN_MS = 60_000;
const WORKER = fileURLToPath(new URL('edit-worker.ts', import.meta.url));
/** MiB of the heap, and KiB of the stack, which the parsers use by recursion. */
const LIMITS = ['--max-old-space-size=256', '--stack-size=3900'];

/**
 * Edits files in a separate process, so that a hostile file that takes much time or memory does not affect the agent: a
 * thread that exceeds its heap may end the whole process. All servers share one, which starts on demand and stops when
 * idle. It is killed at a file above the time limit, and ends by itself above the memory limit.
 */
export class EditProcess {
  private readonly limitMs: number;
  private child: ChildProcess | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private idle: NodeJS.Timeout | undefined;

  constructor(limitMs = 5_000) {
    this.limitMs = limitMs;
  }

  /** In the order of the calls. Never rejects. */
  edit(order: EditOrder): Promise<EditAnswer> {
    this.waiting += 1;
    clearTimeout(this.idle);
    const answer = this.last.then(() => this.run(order));
    this.last = answer.finally(() => {
      this.waiting -= 1;
      if (this.waiting === 0) this.idle = setTimeout(() => this.end(), IDLE_MS);
      this.idle?.unref();
    });
    return answer;
  }

  private async run(order: EditOrder): Promise<EditAnswer> {
    let limit: AbortSignal | null = null;
    try {
      const child = await this.begin();
      limit = AbortSignal.timeout(this.limitMs);
      const answered = messageOf(child, limit);
      child.send(order);
      return (await answered) as EditAnswer;
    } catch {
      this.end();
      if (limit === null) return { ok: false, reason: 'no process could be started to edit it' };
      const reason = limit.aborted
        ? 'it took too long to edit'
        : 'it takes too much memory to edit';
      return { ok: false, reason, spent: true };
    }
  }

  /** The start of the process does not count against the time limit of the file. */
  private async begin(): Promise<ChildProcess> {
    if (this.child !== null) return this.child;
    // Without core files, which would be as large as its memory; without the environment and the flags of the agent.
    const script = 'ulimit -c 0; exec "$0" "$@"';
    const child = spawn('/bin/sh', ['-c', script, process.execPath, ...LIMITS, WORKER], {
      cwd: '/',
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // Whoever waits for a message receives it too; without a listener it would end the agent.
    child.on('error', () => undefined);
    child.once('exit', () => {
      if (this.child === child) this.child = null;
    });
    this.child = child;
    await messageOf(child, AbortSignal.timeout(BEGIN_MS));
    return child;
  }

  private end(): void {
    const { child } = this;
    this.child = null;
    child?.kill('SIGKILL');
  }
}

/** The next message. Rejects when the process ends first or the signal aborts. An idle process keeps nobody alive. */
async function messageOf(child: ChildProcess, signal: AbortSignal): Promise<unknown> {
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  child.ref();
  child.channel?.ref();
  try {
    const ended = once(child, 'exit', { signal: either }).then(() => {
      throw new Error('it ended');
    });
    const [message] = await Promise.race([once(child, 'message', { signal: either }), ended]);
    return message;
  } finally {
    done.abort();
    child.unref();
    child.channel?.unref();
  }
}
