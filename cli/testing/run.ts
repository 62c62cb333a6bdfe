import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const MAIN = join(import.meta.dirname, '..', 'main.ts');

/** The result of a command line. */
export interface Ran {
  /** Null if a signal ended the command. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A running `portcullis ARGS` whose output a test can wait for. */
export class RunningCommand {
  readonly child: ChildProcess;
  readonly #output = { out: '', err: '' };
  readonly #closed: Promise<[number | null]>;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv, child?: ChildProcess) {
    this.child =
      child ?? spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#closed = once(this.child, 'close') as Promise<[number | null]>;
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#output.out += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#output.err += text));
  }

  get out(): string {
    return this.#output.out;
  }

  get err(): string {
    return this.#output.err;
  }

  /** Resolves with all of the output so far once it matches. Rejects if the command ends before. */
  async prints(pattern: RegExp, stream: 'out' | 'err' = 'out'): Promise<string> {
    return this.printsWhere((text) => pattern.test(text), stream);
  }

  async printsWhere(
    holds: (text: string) => boolean,
    stream: 'out' | 'err' = 'out',
  ): Promise<string> {
    const source = stream === 'out' ? this.child.stdout : this.child.stderr;
    while (!holds(this.#output[stream])) {
      const ended = this.#closed.then(() => 'ended');
      const result = await Promise.race([once(source ?? this.child, 'data'), ended]);
      if (result === 'ended' && !holds(this.#output[stream]))
        throw new Error(`the command ended first: ${this.out}${this.err}`);
    }
    return this.#output[stream];
  }

  async end(): Promise<Ran> {
    const [code] = await this.#closed;
    return { code, ...this.#output };
  }

  stop(signal: NodeJS.Signals = 'SIGINT'): Promise<Ran> {
    this.child.kill(signal);
    return this.end();
  }
}

/** The terminal of a person: both outputs are `out`, and what is typed goes to the programs on it. */
const TERMINAL = `import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))`;
const CTRL_C = '\u0003';

/** A command line of any program on a pseudo-terminal. */
export class TerminalCommand extends RunningCommand {
  constructor(
    command: readonly string[],
    { env, ...options }: { readonly env: NodeJS.ProcessEnv; readonly cwd?: string },
  ) {
    const child = spawn('python3', ['-c', TERMINAL, ...command], {
      ...options,
      env: { TERM: 'dumb', NO_COLOR: '1', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    super([], env, child);
  }

  type(text: string): void {
    this.child.stdin?.write(text);
  }

  interrupt(): void {
    this.type(CTRL_C);
  }
}

/** `portcullis ARGS` on a pseudo-terminal. */
export function onTerminal(args: readonly string[], env: NodeJS.ProcessEnv): TerminalCommand {
  return new TerminalCommand([process.execPath, MAIN, ...args], { env });
}

interface Answer extends Ran {
  readonly id: number;
}

/** Runs many command lines in one process, which starts and loads modules only once. */
export class CommandSession {
  readonly #env: NodeJS.ProcessEnv;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<Ran>>();
  #lastId = 0;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
    this.#child = fork(join(import.meta.dirname, 'session-process.ts'), { env });
    this.#child.on('message', ({ id, ...ran }: Answer) => {
      this.#pending.get(id)?.resolve(ran);
      this.#pending.delete(id);
      if (this.#pending.size === 0) this.#child.channel?.unref();
    });
    // An idle session does not keep the process of the tests alive.
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.on('exit', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the session ended'));
    });
  }

  run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
    this.#lastId += 1;
    const answer = Promise.withResolvers<Ran>();
    this.#pending.set(this.#lastId, answer);
    this.#child.channel?.ref();
    this.#child.send({ id: this.#lastId, args, env: { ...this.#env, ...env } });
    return answer.promise;
  }

  async close(): Promise<void> {
    this.#child.ref();
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}
