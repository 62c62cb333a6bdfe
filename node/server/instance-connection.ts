import {
  type Console,
  type Engine,
  EngineError,
  type Usage,
  withTimeout,
} from '../engine/engine.ts';
import { DoneMatcher, ServerConsole } from '../console/server-console.ts';
import type { LaunchedWith } from '../journal/record.ts';

const ATTACH_MS = 10_000;
const WRITE_MS = 3_000;
/** Limit of the output that is read from before this agent. */
const RECENT_BYTES = 64 * 1024;

/** Connects one server with its instance: console output and input, and resource usage. */
export class InstanceConnection {
  readonly console = new ServerConsole();
  readonly #engine: Engine;
  readonly #uuid: string;
  readonly #onEnded: () => void;
  #stream: Console | null = null;
  /** The attachment that is open, or being made; the output of earlier ones is dropped. */
  #current: object | null = null;
  #attaching: Promise<void> = Promise.resolve();
  #unwatch: () => void = () => {};
  #usage: Usage | null = null;
  /** Nothing was read yet, so the output from before this agent is read first. */
  #isFresh = true;

  /** `onEnded` is called when the console ends without `close`. */
  constructor(engine: Engine, uuid: string, onEnded: () => void) {
    this.#onEnded = onEnded;
    this.#engine = engine;
    this.#uuid = uuid;
  }

  /** Whether a console is open, or being opened. */
  get isAttached(): boolean {
    return this.#current !== null;
  }

  get usage(): Usage | null {
    return this.#usage;
  }

  /** Reports the next done line once. Replaces an earlier watch. */
  watchDone(launched: LaunchedWith, onDone: () => void): void {
    const matcher = new DoneMatcher(launched.done);
    for (const problem of matcher.problems) this.console.say(problem);
    this.console.watchDone(matcher, onDone);
  }

  /** Attaches to an instance that is about to start. */
  async attach(): Promise<void> {
    this.close();
    this.#usage = null;
    this.#isFresh = false;
    await this.#connect((chunk) => this.console.push(chunk));
  }

  async #connect(onOutput: (chunk: Buffer) => void): Promise<void> {
    const own = {};
    this.#current = own;
    const attached = this.#engine.attach(this.#uuid, (chunk) => {
      if (this.#current === own) onOutput(chunk);
    });
    // Closes an attachment that arrives after its timeout, or after a later one.
    void attached.then(
      (stream) => this.#current !== own && stream.close(),
      () => {},
    );
    const isOver = (): boolean => {
      if (this.#current !== own) return false;
      this.#current = null;
      return true;
    };
    const stream = await withTimeout('connect the console', ATTACH_MS, attached).catch(
      (error: unknown) => {
        isOver();
        throw error;
      },
    );
    if (this.#current !== own) return;
    this.#stream = stream;
    void stream.ended.then(() => isOver() && this.#onEnded());
  }

  /**
   * Attaches to a running instance, unless it is attached: a console ends with its instance, and another one would lose the
   * lines and commands that come between. Writes wait for it.
   */
  reattach(): Promise<void> {
    if (this.#current === null) this.#attaching = this.#reattach();
    this.watchUsage();
    return this.#attaching;
  }

  async #reattach(): Promise<void> {
    this.close();
    // Output that arrives while earlier output is read comes after it.
    let held: Buffer[] | null = [];
    const take = (chunk: Buffer): void => {
      if (held === null) this.console.push(chunk);
      else held.push(chunk);
    };
    try {
      await this.#connect(take);
      if (this.#isFresh) await this.#readRecent();
    } finally {
      for (const chunk of held) this.console.push(chunk);
      held = null;
    }
  }

  /** Never rejects: the console is open without it. */
  async #readRecent(): Promise<void> {
    this.#isFresh = false;
    try {
      const recent = this.#engine.recentOutput(this.#uuid, RECENT_BYTES);
      this.console.push(await withTimeout('return its recent output', ATTACH_MS, recent));
    } catch {
      this.console.say('What the server wrote before could not be read.');
    }
  }

  /** The last measurement stays valid until the next one. */
  watchUsage(): void {
    this.#unwatch();
    this.#unwatch = this.#engine.watchUsage(this.#uuid, (usage) => {
      this.#usage = usage;
    });
  }

  /** Rejects with `EngineError` if the command was not taken, or the caller's time had passed. */
  async writeCommand(command: string, isExpired: () => boolean = () => false): Promise<void> {
    await this.#attaching.catch(() => {});
    if (isExpired()) throw new EngineError('timeout', 'The console was not connected in time.');
    if (this.#stream === null) {
      throw new EngineError('refused', 'The console of the server is not connected.');
    }
    await withTimeout('take the line', WRITE_MS, this.#stream.write(encodeCommand(command)));
  }

  /** Disconnects; an unfinished line counts as a line. */
  close(): void {
    this.#unwatch();
    this.#unwatch = () => {};
    this.#current = null;
    this.#stream?.close();
    this.#stream = null;
    this.console.end();
  }
}

/**
 * A command is one line of text. The API refuses control characters (0x03 interrupts on a terminal, a line feed makes
 * two commands); one that arrives here is a bug of ours.
 */
export function encodeCommand(command: string): Buffer {
  if (command === '' || /[\p{Cc}\u2028\u2029]/u.test(command)) {
    throw new RangeError('a command is one line of text without control characters');
  }
  return Buffer.from(`${command}\n`, 'utf8');
}
