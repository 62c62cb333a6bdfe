import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ProcessSpec } from '../agents/processes.ts';

/** Facts that a process reports about itself when it is ready. */
export type ReadyFacts = Readonly<Record<string, string>>;

interface ReadyMessage {
  readonly kind: 'ready';
  readonly facts: ReadyFacts;
}

const FIRST_RESTART_DELAY_MS = 250;
const MAX_RESTART_DELAY_MS = 10_000;
/** After this time a process counts as healthy, and the delay before its next restart is short again. */
const HEALTHY_MS = 30_000;
/** A process that has not stopped after this time is killed. Longer than its own timeouts. */
const STOP_TIMEOUT_MS = 15_000;

/** A process that is restarted when it exits by itself. */
export class SupervisedProcess {
  readonly #spec: ProcessSpec;
  readonly #onRestart: (reason: string, delayMs: number) => void;
  #child: ChildProcess | null = null;
  #isStopping = false;
  #delayMs = FIRST_RESTART_DELAY_MS;
  #retry: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #announcement: object | null = null;

  constructor(spec: ProcessSpec, onRestart: (reason: string, delayMs: number) => void) {
    this.#spec = spec;
    this.#onRestart = onRestart;
  }

  get name(): string {
    return this.#spec.name;
  }

  /** Resolves when the process is ready for the first time; rejects if it exits before. */
  start(): Promise<ReadyFacts> {
    return new Promise((resolve, reject) => {
      this.#launch(resolve, (reason) => reject(new Error(reason)));
    });
  }

  /** Sends a message to the process, and to every later one when it is ready. */
  announce(message: object): void {
    this.#announcement = message;
    this.#child?.send(message);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#retry);
    const child = this.#child;
    if (child === null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const killTimer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(killTimer);
  }

  #launch(
    onReady: (facts: ReadyFacts) => void,
    onExitBeforeReady: ((reason: string) => void) | null,
  ): void {
    const { command, args, env, cwd, whenReady } = this.#spec;
    const child = spawn(command, args, {
      env,
      ...(cwd !== undefined && { cwd }),
      // In its own process group: Ctrl-C reaches only this process, which stops the others in order.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    this.#startedAt = performance.now();
    let isReady = false;
    const becomeReady = (facts: ReadyFacts): void => {
      if (isReady) return;
      isReady = true;
      if (this.#announcement !== null) child.send(this.#announcement);
      onReady(facts);
    };
    child.on('message', (message) => {
      const { kind, facts } = message as ReadyMessage;
      if (kind === 'ready') becomeReady(facts);
    });
    const ended = new AbortController();
    if (whenReady !== undefined && child.pid !== undefined) {
      // Its exit is handled below.
      whenReady(child.pid, ended.signal).then(
        () => becomeReady({}),
        () => {},
      );
    }
    const handleExit = (reason: string): void => {
      ended.abort();
      if (this.#child !== child) return;
      this.#child = null;
      if (this.#isStopping) return;
      // A first start that fails is reported instead of retried.
      if (!isReady && onExitBeforeReady !== null) onExitBeforeReady(reason);
      else this.#restart(reason);
    };
    child.on('error', (error) => handleExit(error.message));
    child.on('exit', (code, signal) => handleExit(signal ?? `exit code ${code}`));
  }

  #restart(reason: string): void {
    if (performance.now() - this.#startedAt > HEALTHY_MS) this.#delayMs = FIRST_RESTART_DELAY_MS;
    const delayMs = this.#delayMs;
    this.#delayMs = Math.min(delayMs * 2, MAX_RESTART_DELAY_MS);
    this.#onRestart(reason, delayMs);
    this.#retry = setTimeout(() => this.#launch(() => {}, null), delayMs);
  }
}
