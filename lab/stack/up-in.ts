import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type Door, openDoor } from '../portal/browser.ts';
import type { Namespace } from './netns.ts';

const LAUNCHER = join(import.meta.dirname, '..', '..', 'portcullis');
const INSIDE = 'http://127.0.0.1:8080';
const BRIDGE = join(import.meta.dirname, 'bridge.ts');
const PATIENCE_MS = 60_000;
const LOG_END = 4_000;

/** The output of `up --json`. */
interface Started {
  readonly keys: readonly { readonly key: string }[];
  readonly operator_link: string | null;
  readonly server: {
    readonly uuid: string;
    readonly problem: string | null;
  } | null;
}

interface Parts {
  readonly namespace: Namespace;
  readonly child: ChildProcess;
  /** Carries connections into the namespace. */
  readonly bridge: ChildProcess;
  readonly door: Door;
  readonly operatorKey: string;
}

/** `portcullis up` as on a first start, in a network namespace, and its API by `curl` there. */
export class UpIn {
  readonly started: Started;
  readonly #namespace: Namespace;
  readonly #child: ChildProcess;
  readonly #bridge: ChildProcess;
  readonly #door: Door;
  readonly #operatorKey: string;
  #browser: Browser | null = null;

  static async start(namespace: Namespace, folder: string, args: readonly string[]): Promise<UpIn> {
    const data = join(folder, 'data');
    const door = await openDoor('127.0.0.1');
    const given = ['--public-url', door.url, '--metrics-listen', 'off', ...args];
    const words = [LAUNCHER, 'up', '--json', '--data', data, ...given];
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
    const socket = join(folder, 'api.sock');
    const bridge = namespace.spawn([process.execPath, BRIDGE, socket, '8080'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(bridge.stdout as NonNullable<ChildProcess['stdout']>, 'data');
    door.lead(socket);
    const operatorKey = /pcl_\w+/.exec(made)?.[0] ?? '';
    return new UpIn({ namespace, child, bridge, door, operatorKey }, facts);
  }

  private constructor({ namespace, child, bridge, door, operatorKey }: Parts, started: Started) {
    this.#namespace = namespace;
    this.#child = child;
    this.#bridge = bridge;
    this.#door = door;
    this.started = started;
    this.#operatorKey = operatorKey;
  }

  /** Where a browser of this machine reaches it. */
  get url(): string {
    return this.#door.url;
  }

  /** The same page of it, by that URL. */
  linkOf(link: string): string {
    return link.replace(/^https?:\/\/[^/]+/, this.url);
  }

  /** A page of a browser, which `stop` closes. */
  async open(): Promise<Page> {
    this.#browser ??= await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: ['--no-sandbox'],
    });
    const page = await this.#browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    return page;
  }

  /** An operation of the operator's API; its `data`. */
  operator(method: string, path: string, body?: object): unknown {
    return this.#call(this.#operatorKey, method, `/api/operator${path}`, body);
  }

  server(uuid: string): { readonly provisioned: boolean; readonly state: string | null } {
    const path = `/api/v1/game-servers/${uuid}`;
    return this.#call(this.#firstKey, 'GET', path) as ReturnType<UpIn['server']>;
  }

  power(uuid: string, signal: string): void {
    this.#call(this.#firstKey, 'POST', `/api/v1/game-servers/${uuid}/power`, { signal });
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    this.#door.close();
    this.#bridge.kill();
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  get #firstKey(): string {
    return this.started.keys[0]?.key ?? '';
  }

  #call(key: string, method: string, path: string, body?: object): unknown {
    const args = ['-sS', '-X', method, '-H', `Authorization: Bearer ${key}`];
    if (body !== undefined)
      args.push('-H', 'Content-Type: application/json', '-d', JSON.stringify(body));
    const [program, ...rest] = this.#namespace.command(
      'curl',
      ...args,
      '-w',
      '\n%{http_code}',
      `${INSIDE}${path}`,
    );
    const said = execFileSync(program, rest, { encoding: 'utf8' });
    const [, text = '', status = ''] = /^(.*)\n(\d+)$/s.exec(said) ?? [];
    assert.ok(Number(status) < 300, `${method} ${path}: ${status} ${text}`);
    return (JSON.parse(text) as { readonly data?: unknown }).data;
  }
}
