import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Namespace, Network } from '../../stack/netns.ts';
import { ended, startBridge } from '../../stack/stack.ts';
import { readableProgram, RUNNING } from '@portcullis/link/program/readable-program.ts';

/** Ports that the programs of an installation listen on, in a network namespace of their own. */
export const PORTS = { api: 8080, nats: 4222, flows: 6343, farFlows: 6344, game: 25_570 } as const;
const API = `127.0.0.1:${PORTS.api}`;
const START_MS = 120_000;

interface Sent {
  readonly key?: string;
  readonly cookie?: string;
  readonly body?: object;
  /** The key of a write that may be sent again. */
  readonly idempotencyKey?: string;
}

export interface Answer<T> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: T;
}

/**
 * Programs of one version of Portcullis on a host: control, NATS, an edge, a node with the process engine, and two
 * collectors. Each has its folder below `home`.
 */
export class Installation {
  readonly #network: Network;
  readonly #programs = new Map<string, ChildProcess>();
  readonly #host: Namespace;
  readonly #databaseUrl: string | null;
  readonly #env: NodeJS.ProcessEnv;
  #bridge: ChildProcess | null = null;
  readonly home: string;
  /** The repository whose programs are started from now on. */
  checkout: string;

  /**
   * `home`: may be entered by the account of control. `label`: tells the hosts of one test apart. Without `databaseUrl`
   * there is only what `startUp` starts.
   */
  constructor(options: {
    readonly label?: string;
    readonly checkout: string;
    readonly home: string;
    readonly databaseUrl?: string;
    readonly env?: NodeJS.ProcessEnv;
  }) {
    this.#network = new Network(options.label ?? 'upgrade');
    this.#host = this.#network.create('host');
    this.checkout = options.checkout;
    this.home = options.home;
    this.#databaseUrl = options.databaseUrl ?? null;
    this.#env = options.env ?? {};
    for (const name of ['control', 'edge', 'node', 'nats']) {
      mkdirSync(join(this.home, name), { recursive: true });
    }
    chmodSync(this.home, 0o711);
    const outside = [
      { device: 'ext0', addresses: [] },
      { device: 'ext1', addresses: [] },
    ] as const;
    this.#network.join(this.#host, outside[0], this.#host, outside[1]);
  }

  async startControl(): Promise<void> {
    const listen = ['--listen', API, '--metrics-listen', 'off'];
    const nats = ['--nats', `tls://127.0.0.1:${PORTS.nats}`];
    this.#launch('control', ['control', '--data', join(this.home, 'control'), ...listen, ...nats], {
      ...(this.#databaseUrl !== null && { DATABASE_URL: this.#databaseUrl }),
    });
    await this.logged('control', 'control is ready');
    this.#bridge ??= await startBridge(this.#host, join(this.home, 'api.sock'));
  }

  /** Everything by the command of the README; the folder is `data`. */
  async startUp(): Promise<void> {
    const env = { PORTCULLIS_DATA: join(this.home, 'data') };
    this.#spawn('up', ['npm', 'start', '--', '--enforce'], env, this.checkout);
    this.#bridge ??= await startBridge(this.#host, join(this.home, 'api.sock'));
    await this.logged('up', 'Ctrl-C stops it');
  }

  /** Stops it as Ctrl-C does, which every process of the terminal gets. */
  async stopUp(): Promise<void> {
    const child = this.#programs.get('up');
    if (child?.pid === undefined) throw new Error('it does not run');
    process.kill(-child.pid, 'SIGINT');
    await ended(child);
    // npm does not wait for what it started.
    const isOver = () => !existsSync(join(this.home, 'data', 'postgres', 'postmaster.pid'));
    await this.until('the database has stopped', isOver);
    await this.until('control has ended', () => !/:9464\b/.test(this.run('ss', '-Htln')));
  }

  async startNats(): Promise<void> {
    this.#spawn('nats', ['nats-server', '-c', 'nats.conf'], {}, join(this.home, 'nats'));
    await this.logged('nats', 'Server is ready');
  }

  startEdge(): void {
    const link = join(this.home, 'control', 'link', 'control.sock');
    const place = ['--data', join(this.home, 'edge'), '--link', link];
    const credential = ['--credential-file', join(this.home, 'edge.credential')];
    this.#launch('edge', ['edge', '--name', 'edge-1', ...place, ...credential, '--enforce']);
  }

  /** Not as root, which the process engine refuses. */
  startNode(): void {
    const place = ['--data', join(this.home, 'node'), '--link', this.#nodeSocket];
    const credential = ['--credential-file', join(this.home, 'node.credential')];
    const account = ['setpriv', '--reuid=portcullis', '--regid=portcullis', '--clear-groups'];
    // Which this account may read, wherever this checkout is.
    const program =
      this.checkout === RUNNING.root
        ? readableProgram()
        : { root: this.checkout, node: process.execPath };
    const main = [program.node, join(program.root, 'cli', 'main.ts')];
    const node = [...main, 'node', '--name', 'node-1'];
    this.#spawn('node', [...account, ...node, ...place, '--engine', 'process', ...credential]);
  }

  get #nodeSocket(): string {
    return join(this.home, 'control', 'node-link', 'control.sock');
  }

  /** `flows` by the socket of this host; `far` over NATS, as from another one. */
  startCollector(name: 'flows' | 'far'): void {
    const link = ['--link', this.#nodeSocket, '--name', name];
    const file = join(this.home, `${name}.credential`);
    const where = name === 'flows' ? link : [];
    this.#launch(name, ['collector', ...where, '--credential-file', file]);
  }

  /** Sends a datagram to a port of this host ten times a second, until the returned function is called. */
  repeat(datagram: Buffer, port: number): () => Promise<void> {
    const script = `
      const socket = require('node:dgram').createSocket('udp4');
      const datagram = Buffer.from('${datagram.toString('base64')}', 'base64');
      setInterval(() => socket.send(datagram, ${port}, '127.0.0.1'), 100);`;
    const child = this.#host.spawn([process.execPath, '-e', script], { stdio: 'ignore' });
    return async () => {
      child.kill();
      await ended(child);
    };
  }

  /** Runs a command of the operator on the host; its standard output. */
  async command(...args: readonly string[]): Promise<string> {
    const [program, ...rest] = this.#host.command(join(this.checkout, 'portcullis'), ...args);
    const url = this.#databaseUrl;
    const env = { ...this.#environment(), ...(url !== null && { DATABASE_URL: url }) };
    const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`portcullis ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** Runs a program of the machine in the namespace. */
  run(...command: readonly string[]): string {
    return this.#host.run(...command);
  }

  async call<T = unknown>(
    method: string,
    path: string,
    { key, cookie, body, idempotencyKey }: Sent = {},
  ): Promise<Answer<T>> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const sent = request({
      socketPath: join(this.home, 'api.sock'),
      method,
      path,
      headers: {
        'x-portcullis-csrf': '1',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(cookie !== undefined && { cookie }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        }),
      },
    });
    sent.end(text);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = await response.toArray();
    const answer = Buffer.concat(chunks).toString();
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: (answer === '' ? null : JSON.parse(answer)) as T,
    };
  }

  /** Since its last start. */
  logOf(name: string): string {
    return readFileSync(join(this.home, `${name}.log`), 'utf8');
  }

  /** Waits until a program has logged a text. */
  async logged(name: string, text: string): Promise<void> {
    await this.until(`${name} says "${text}"`, () => {
      const child = this.#programs.get(name);
      if (child?.exitCode !== null || child.signalCode !== null)
        throw new Error(`${name} ended:\n${this.logOf(name).slice(-4_000)}`);
      return this.logOf(name).includes(text);
    });
  }

  /** Waits for a condition. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + START_MS;
    while (!(await holds())) {
      if (performance.now() > deadline) {
        const logs = [...this.#programs.keys()].map(
          (name) => `${name}:\n${this.logOf(name).slice(-2_000)}`,
        );
        throw new Error(`not so after ${START_MS} ms: ${what}\n${logs.join('\n')}`);
      }
      // Well within the limit of a key.
      await delay(200);
    }
  }

  /** Ends a program as its supervisor would; its exit code. */
  async stop(name: string): Promise<number | null> {
    const child = this.#programs.get(name);
    if (child === undefined) throw new Error(`${name} does not run`);
    child.kill('SIGTERM');
    await ended(child);
    return child.exitCode;
  }

  /** Everything ends at once, as with a host that loses its power; the games too. */
  async cutPower(): Promise<void> {
    this.#bridge?.kill('SIGKILL');
    this.#network.destroy();
    for (const child of this.#programs.values()) await ended(child);
  }

  #launch(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
    this.#spawn(name, [join(this.checkout, 'portcullis'), ...args], env);
  }

  #spawn(
    name: string,
    command: readonly string[],
    env: NodeJS.ProcessEnv = {},
    cwd = this.home,
  ): void {
    const file = openSync(join(this.home, `${name}.log`), 'w');
    const child = this.#host.spawn(command, {
      env: { ...this.#environment(), ...env },
      cwd,
      stdio: ['ignore', file, file],
      detached: true,
    });
    closeSync(file);
    this.#programs.set(name, child);
  }

  #environment(): NodeJS.ProcessEnv {
    const { DATABASE_URL: _, ...env } = process.env;
    return { ...env, PORTCULLIS_EARLY_DROP: 'off', HOME: this.home, ...this.#env };
  }
}
