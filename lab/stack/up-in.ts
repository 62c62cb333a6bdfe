import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Namespace } from './netns.ts';

const LAUNCHER = join(import.meta.dirname, '..', '..', 'portcullis');
const URL = 'http://127.0.0.1:8080';
const LOG_END = 4_000;

/** What `up --json` prints. */
interface Started {
  readonly keys: readonly { readonly key: string }[];
  readonly operator_link: string | null;
  readonly server: {
    readonly uuid: string;
    readonly problem: string | null;
  } | null;
}

/** `portcullis up` as on a first start, in a network namespace, and its API by `curl` there. */
export class UpIn {
  readonly started: Started;
  readonly #namespace: Namespace;
  readonly #child: ChildProcess;
  readonly #operatorKey: string;

  static async start(namespace: Namespace, folder: string, args: readonly string[]): Promise<UpIn> {
    const data = join(folder, 'data');
    const words = [LAUNCHER, 'up', '--json', '--data', data, '--metrics-listen', 'off', ...args];
    const child = namespace.spawn(words, { stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    let log = '';
    child.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const started = new Promise<Started>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        if (printed.trimEnd().endsWith('\n}')) resolve(JSON.parse(printed) as Started);
      });
      child.once('exit', () => reject(new Error(`up ended:\n${log.slice(-LOG_END)}`)));
    });
    const facts = await started;
    const made = namespace.run(
      LAUNCHER,
      'keys',
      'create',
      '--operator',
      '--name',
      'lab',
      '--ability',
      'operator.read',
      'operator.manage',
      '--json',
      '--data',
      data,
    );
    return new UpIn(namespace, child, facts, made);
  }

  private constructor(namespace: Namespace, child: ChildProcess, started: Started, made: string) {
    this.#namespace = namespace;
    this.#child = child;
    this.started = started;
    this.#operatorKey = /pcl_\w+/.exec(made)?.[0] ?? '';
  }

  /** An operation of the operator's API; its `data`. */
  operator<T>(method: string, path: string, body?: object): T {
    return this.#call<T>(this.#operatorKey, method, `/api/operator${path}`, body).data;
  }

  server(uuid: string): { readonly provisioned: boolean; readonly state: string | null } {
    return this.#call<{ provisioned: boolean; state: string | null }>(
      this.#firstKey,
      'GET',
      `/api/v1/game-servers/${uuid}`,
    ).data;
  }

  power(uuid: string, signal: string): void {
    this.#call(this.#firstKey, 'POST', `/api/v1/game-servers/${uuid}/power`, { signal });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  get #firstKey(): string {
    return this.started.keys[0]?.key ?? '';
  }

  #call<T>(key: string, method: string, path: string, body?: object): { readonly data: T } {
    const args = ['-sS', '-X', method, '-H', `Authorization: Bearer ${key}`];
    if (body !== undefined)
      args.push('-H', 'Content-Type: application/json', '-d', JSON.stringify(body));
    const [program, ...rest] = this.#namespace.command(
      'curl',
      ...args,
      '-w',
      '\n%{http_code}',
      `${URL}${path}`,
    );
    const said = execFileSync(program, rest, { encoding: 'utf8' });
    const [, text = '', status = ''] = /^(.*)\n(\d+)$/s.exec(said) ?? [];
    assert.ok(Number(status) < 300, `${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as { readonly data: T };
  }
}
