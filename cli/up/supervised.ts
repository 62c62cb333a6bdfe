import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A child that says over its IPC channel when it is ready, and is started again when it ends by itself. */
export interface ChildSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** What children send; `ready` carries whatever the parent wants to know of them. */
export interface ChildMessage {
  readonly kind: 'ready';
  readonly facts: Readonly<Record<string, string>>;
}

interface Events {
  readonly onReady: (facts: ChildMessage['facts']) => void;
  readonly onRestart: (why: string, waitMs: number) => void;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
/** A child that ran this long was well: its next end is a new story. */
const HEALTHY_MS = 30_000;
/** What a child may take to stop before it is killed. Longer than its own bounded waits. */
const STOP_MS = 15_000;

export class Supervised {
  readonly #spec: ChildSpec;
  readonly #events: Events;
  #child: ChildProcess | null = null;
  #stopping = false;
  #waitMs = FIRST_WAIT_MS;
  #retry: NodeJS.Timeout | undefined;
  #startedAt = 0;

  constructor(spec: ChildSpec, events: Events) {
    this.#spec = spec;
    this.#events = events;
  }

  /** Resolves with the facts of the first time it is ready; rejects when it ends with a reason before. */
  start(): Promise<ChildMessage['facts']> {
    return new Promise((resolve, reject) => {
      this.#launch(resolve, (why) => reject(new Error(why)));
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#retry);
    const child = this.#child;
    if (child === null) return;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const impatient = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await gone;
    clearTimeout(impatient);
  }

  #launch(
    onReady: (facts: ChildMessage['facts']) => void,
    onEndBeforeReady: ((why: string) => void) | null,
  ): void {
    const { command, args, env } = this.#spec;
    const child = spawn(command, args, {
      env,
      // A group of its own: Ctrl-C reaches us alone, and we stop our children in order.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    this.#startedAt = performance.now();
    let ready = false;
    child.on('message', (message) => {
      if ((message as ChildMessage).kind !== 'ready' || ready) return;
      ready = true;
      onReady((message as ChildMessage).facts);
      this.#events.onReady((message as ChildMessage).facts);
    });
    const ended = (why: string): void => {
      if (this.#child !== child) return;
      this.#child = null;
      if (this.#stopping) return;
      // What cannot even start once will not by trying again: the person at the terminal is told.
      if (!ready && onEndBeforeReady !== null) onEndBeforeReady(why);
      else this.#restart(why);
    };
    child.on('error', (error) => ended(error.message));
    child.on('exit', (code, signal) => ended(signal ?? `exit code ${code}`));
  }

  #restart(why: string): void {
    if (performance.now() - this.#startedAt > HEALTHY_MS) this.#waitMs = FIRST_WAIT_MS;
    const waitMs = this.#waitMs;
    this.#waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    this.#events.onRestart(why, waitMs);
    this.#retry = setTimeout(() => this.#launch(() => {}, null), waitMs);
  }
}
