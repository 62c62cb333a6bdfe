import { bounded, type Console, type Engine, EngineError, type Usage } from '../engine/engine.ts';
import { DoneMatcher, ServerConsole } from '../console/server-console.ts';
import type { LaunchedWith } from '../journal/record.ts';

const ATTACH_MS = 10_000;
const WRITE_MS = 3_000;
/** Of what an instance wrote before this agent was there. */
const RECENT_BYTES = 64 * 1024;

/** What connects one server with its instance: lines out, bytes in, and what it uses. */
export class Terminal {
  readonly console = new ServerConsole();
  readonly #engine: Engine;
  readonly #uuid: string;
  readonly #onEnded: () => void;
  #stream: Console | null = null;
  /** Whose output counts. */
  #connection: object | null = null;
  #attaching: Promise<void> = Promise.resolve();
  #unwatch: () => void = () => {};
  #usage: Usage | null = null;
  /** Whether anything was ever read here: if not, what was written before is worth showing. */
  #isFresh = true;

  /** `onEnded`: the console that was connected ended, and nobody here ended it. */
  constructor(engine: Engine, uuid: string, onEnded: () => void) {
    this.#onEnded = onEnded;
    this.#engine = engine;
    this.#uuid = uuid;
  }

  get usage(): Usage | null {
    return this.#usage;
  }

  /** From now on, until the next, a done line is told once. */
  watchDone(launched: LaunchedWith, onDone: () => void): void {
    const matcher = new DoneMatcher(launched.done);
    for (const problem of matcher.problems) this.console.say(problem);
    this.console.watchDone(matcher, onDone);
  }

  /** To an instance that is about to start. Rejects when it cannot be had. */
  async attach(): Promise<void> {
    this.close();
    this.#usage = null;
    this.#isFresh = false;
    await this.#connect((chunk) => this.console.push(chunk));
  }

  /** Of several at once only the last is heard. */
  async #connect(onOutput: (chunk: Buffer) => void): Promise<void> {
    const own = {};
    this.#connection = own;
    const attached = this.#engine.attach(this.#uuid, (chunk) => {
      if (this.#connection === own) onOutput(chunk);
    });
    // Also one that comes after everybody gave it up.
    void attached.then(
      (stream) => this.#connection !== own && stream.close(),
      () => {},
    );
    const stream = await bounded('connect the console', ATTACH_MS, attached);
    if (this.#connection !== own) return;
    this.#stream = stream;
    void stream.ended.then(() => this.#connection === own && this.#onEnded());
  }

  /** To an instance that runs. A write waits for it; one that cannot be had fails the writes. */
  reattach(): Promise<void> {
    this.#attaching = this.#reattach();
    this.#watchUsage();
    return this.#attaching;
  }

  async #reattach(): Promise<void> {
    this.close();
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    // What comes while the past is asked for waits behind it.
    let held: Buffer[] | null = [];
    const take = (chunk: Buffer): void => {
      if (held === null) this.console.push(chunk);
      else held.push(chunk);
    };
    try {
      await this.#connect(take);
      if (isFresh) {
        const recent = this.#engine.recentOutput(this.#uuid, RECENT_BYTES);
        this.console.push(await bounded('tell its recent output', ATTACH_MS, recent));
      }
    } finally {
      for (const chunk of held) this.console.push(chunk);
      held = null;
    }
  }

  /** It was started. */
  started(): void {
    this.#watchUsage();
  }

  /** What was measured last is told until something newer is. */
  #watchUsage(): void {
    this.#unwatch();
    this.#unwatch = this.#engine.watchUsage(this.#uuid, (usage) => {
      this.#usage = usage;
    });
  }

  /** Rejects with `EngineError` when nobody took the bytes, or nobody waits for that any more. */
  async write(bytes: Buffer, isLate: () => boolean = () => false): Promise<void> {
    await this.#attaching.catch(() => {});
    if (isLate()) throw new EngineError('timeout', 'The console was not connected in time.');
    if (this.#stream === null) {
      throw new EngineError('refused', 'The console of the server is not connected.');
    }
    await bounded('take the line', WRITE_MS, this.#stream.write(bytes));
  }

  /** The instance ended or goes: what it was writing is a line. */
  close(): void {
    this.#unwatch();
    this.#unwatch = () => {};
    this.#connection = null;
    this.#stream?.close();
    this.#stream = null;
    this.console.end();
  }
}

/**
 * What a command is on a console: the text and a line end. The API takes none with control characters (0x03 is an
 * interrupt on a terminal, a line end makes two commands); one that comes here all the same is a mistake of ours.
 */
export function encodeCommand(command: string): Buffer {
  if (command === '' || /[\p{Cc}\u2028\u2029]/u.test(command)) {
    throw new RangeError('a command is one line of text without control characters');
  }
  return Buffer.from(`${command}\n`, 'utf8');
}
