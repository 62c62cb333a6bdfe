import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { generateSecret } from '@portcullis/control/access/index.ts';
import { clusterOf } from '@portcullis/control/db/embedded/data-directory.ts';
import { findEmbeddedPostgres } from '@portcullis/control/db/embedded/index.ts';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { mountBpffs, unmountBpffs } from '../kernel/bpffs.ts';
import { ApiClient } from './api-client.ts';
import { type Namespace, Network } from './netns.ts';
import { API_PORT, ended, startBridge } from './stack.ts';

const LAUNCHER = join(import.meta.dirname, '..', '..', 'portcullis');
const START_MS = 120_000;
const NATS_PORT = 4222;
const NATS_MONITOR_PORT = 8222;
/** The address of the host of control and NATS, on the wire that all hosts share. */
const CONTROL = '10.77.0.1';
export const CONTROL_URL = `https://${CONTROL}:${API_PORT}`;
/** Addresses that the fleet protects. */
export const PROTECTED = '203.0.113.10';

/** A host of its own: a network namespace, and the folder of its Portcullis. */
export interface Machine {
  readonly name: string;
  readonly namespace: Namespace;
}

interface MachinesOptions {
  readonly edges: readonly string[];
  /** Edges of the fleet that do not join by themselves. */
  readonly bare?: readonly string[];
  /** Default: control has an embedded PostgreSQL. */
  readonly databaseUrl?: string;
  /** The size of each edge's disk, such as `1g`. Small by default, so that tests can fill it. */
  readonly disk?: string;
}

interface Program {
  readonly child: ChildProcess;
  readonly log: string;
}

/** Its library is loaded into every process of the command. */
function fakeClock(offset: string): NodeJS.ProcessEnv {
  const library = `/usr/lib/${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu/faketime/libfaketime.so.1`;
  return { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** Several hosts on one wire: control and a NATS server on the first, and an edge on each other one. */
export class Machines {
  readonly #network: Network;
  readonly #home = mkdtempSync(join(scratchRoot(), 'portcullis-machines-'));
  readonly #programs = new Map<string, Program>();
  readonly #key = generateSecret();
  readonly #givenUrl: string | null;
  readonly #disk: string;
  readonly control: Machine;
  readonly edges: readonly Machine[];
  /** Edges of the fleet that have not joined. */
  readonly bare: readonly Machine[];
  readonly api: ApiClient;
  /** The API of the second replica of control. */
  readonly replicaApi: ApiClient;
  readonly #replica: Machine;
  #bridges: ChildProcess[] = [];

  private constructor(label: string, { edges, bare = [], databaseUrl, disk }: MachinesOptions) {
    this.#givenUrl = databaseUrl ?? null;
    this.#disk = disk ?? '64m';
    this.#network = new Network(label);
    // When run as root, control and PostgreSQL use another account, which must be able to enter the folder.
    chmodSync(this.#home, 0o711);
    this.control = { name: 'control', namespace: this.#network.create('control') };
    this.#replica = { name: 'replica', namespace: this.#network.create('replica') };
    const create = (name: string): Machine => ({ name, namespace: this.#network.create(name) });
    this.edges = edges.map(create);
    this.bare = bare.map(create);
    const options = { isEncrypted: true, keepAlive: true };
    this.api = new ApiClient(join(this.#home, 'api.sock'), this.#key, options);
    this.replicaApi = new ApiClient(join(this.#home, 'replica.sock'), this.#key, options);
  }

  /** Everything runs, and every edge is in service. */
  static async start(label: string, options: MachinesOptions): Promise<Machines> {
    const machines = new Machines(label, options);
    try {
      await machines.#startAll();
    } catch (error) {
      await machines.stop();
      throw error;
    }
    return machines;
  }

  async #startAll(): Promise<void> {
    this.#wire();
    for (const [machine, socket] of [
      [this.control, 'api.sock'],
      [this.#replica, 'replica.sock'],
    ] as const) {
      this.#bridges.push(await startBridge(machine.namespace, join(this.#home, socket)));
    }
    await this.command('certificate', '--name', CONTROL, '--out', join(this.#home, 'tls'));
    await this.startControl();
    writeFileSync(join(this.#home, 'fleet.yaml'), this.#fleet());
    await this.command('fleet', 'apply', join(this.#home, 'fleet.yaml'), '--yes');
    const nats = join(this.#home, 'nats');
    await this.command('nats', 'config', '--listen', `${CONTROL}:${NATS_PORT}`, '--out', nats);
    await this.startNats();
    await this.logged('control', 'serving agents over NATS');
    for (const { name } of this.edges) {
      const file = join(this.#home, `${name}.json`);
      await this.command('edges', 'enrol', name, '--remote', '--save', file);
      this.startEdge(name);
    }
    for (const { name } of this.edges) await this.logged(name, 'joined control');
    if (this.edges.length > 0) await this.api.enforced(PROTECTED);
  }

  #wire(): void {
    const { namespace } = this.control;
    namespace.run('ip', 'link', 'add', 'wire', 'type', 'bridge');
    namespace.run('ip', 'address', 'add', `${CONTROL}/24`, 'dev', 'wire');
    namespace.run('ip', 'link', 'set', 'wire', 'up');
    for (const [index, edge] of this.#all.entries()) {
      const addresses = [`10.77.0.${index + 10}/24`];
      const ours = { device: `to-${edge.name}`, addresses: [] };
      this.#network.join(namespace, ours, edge.namespace, { device: 'mgmt0', addresses });
      namespace.run('ip', 'link', 'set', ours.device, 'master', 'wire');
      const outside = [
        { device: 'ext0', addresses: [] },
        { device: 'ext1', addresses: [] },
      ] as const;
      this.#network.join(edge.namespace, outside[0], edge.namespace, outside[1]);
      mountBpffs(this.#bpffs(edge.name));
      // A disk of its own, which can be full.
      const disk = join(this.#home, edge.name);
      mkdirSync(disk);
      spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${this.#disk}`, 'tmpfs', disk]);
    }
    const theirs = { device: 'mgmt0', addresses: ['10.77.0.2/24'] };
    const ours = { device: 'to-replica', addresses: [] };
    this.#network.join(namespace, ours, this.#replica.namespace, theirs);
    namespace.run('ip', 'link', 'set', ours.device, 'master', 'wire');
  }

  #fleet(): string {
    const edges = this.#all.map(({ name }) => `  - { name: ${name}, devices: [ext0] }`);
    return `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api]
    limits: { requests_per_minute: 1000000 }
    prefixes: [{ cidr: 203.0.113.0/24, since: "2026-01-01T00:00:00+00:00" }]
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage], secret: "\${LAB_KEY}" }
edges:
${edges.join('\n')}
`;
  }

  get databaseUrl(): string {
    if (this.#givenUrl !== null) return this.#givenUrl;
    const url = findEmbeddedPostgres(join(this.#home, 'control'));
    if (url === null) throw new Error('the database does not run');
    return url;
  }

  /** The pid of a program that runs. */
  pidOf(name: string): number {
    const pid = this.#programs.get(name)?.child.pid;
    if (pid === undefined) throw new Error(`${name} does not run`);
    return pid;
  }

  /** A folder that is removed at the end. */
  folder(name: string): string {
    const folder = join(this.#home, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  async startControl(): Promise<void> {
    this.#launchControl(this.control);
    await this.logged('control', 'control is ready');
  }

  /** A second control plane, on a host of its own and on the same database. */
  async startReplica(): Promise<void> {
    this.#launchControl(this.#replica, { DATABASE_URL: this.databaseUrl });
    await this.logged('replica', 'serving agents over NATS');
  }

  /** The postmaster of control's embedded PostgreSQL, which all its other processes end with. */
  get postmasterPid(): number {
    const file = join(clusterOf(join(this.#home, 'control')), 'postmaster.pid');
    return Number(readFileSync(file, 'utf8').split('\n')[0]);
  }

  /** Kills PostgreSQL as a crash would. */
  killPostgres(): void {
    process.kill(this.postmasterPid, 'SIGKILL');
  }

  #launchControl(machine: Machine, env: NodeJS.ProcessEnv = {}): void {
    const listen = ['--listen', `0.0.0.0:${API_PORT}`, '--metrics-listen', 'off'];
    const nats = ['--nats', `tls://${CONTROL}:${NATS_PORT}`];
    const tls = (file: string): string => join(this.#home, 'tls', file);
    const encrypted = ['--tls-cert', tls('server.crt'), '--tls-key', tls('server.key')];
    const command = [LAUNCHER, 'control', ...listen, ...nats, ...encrypted];
    this.#run(machine, machine.name, command, { env });
  }

  async startNats(): Promise<void> {
    const folder = join(this.#home, 'nats');
    const command = ['nats-server', '-c', 'nats.conf', '-m', String(NATS_MONITOR_PORT)];
    this.#run(this.control, 'nats', command, { cwd: folder });
    await this.logged('nats', 'Server is ready');
  }

  /** Bytes that the NATS server has sent and received since it started. */
  natsBytes(): number {
    const url = `http://${CONTROL}:${NATS_MONITOR_PORT}/varz`;
    const said: unknown = JSON.parse(this.control.namespace.run('curl', '-s', url));
    const { in_bytes: received, out_bytes: sent } = said as { in_bytes: number; out_bytes: number };
    return received + sent;
  }

  /** `clock`: by how much its clock is wrong, such as `+3600s`. */
  startEdge(name: string, clock: string | null = null): void {
    const file = join(this.#home, `${name}.json`);
    const command = [LAUNCHER, 'edge', '--credential-file', file, '--enforce'];
    const env = clock === null ? {} : fakeClock(clock);
    this.#run(this.#edge(name), name, command, { env });
  }

  /** Fills the disk of an edge to its last byte, or frees it again. */
  setDisk(name: string, state: 'full' | 'free'): void {
    const ballast = join(this.#home, name, 'ballast');
    rmSync(ballast, { force: true });
    if (state === 'free') return;
    const { status } = spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=64k'], {
      stdio: 'ignore',
    });
    if (status !== 1) throw new Error(`the disk of ${name} was not filled`);
  }

  get #all(): readonly Machine[] {
    return [...this.edges, ...this.bare];
  }

  #edge(name: string): Machine {
    const edge = this.edges.find((one) => one.name === name);
    if (edge === undefined) throw new Error(`there is no edge ${name}`);
    return edge;
  }

  #bpffs(name: string): string {
    return join(this.#home, `${name}.bpffs`);
  }

  #environment(machine: Machine): NodeJS.ProcessEnv {
    return {
      ...process.env,
      LAB_KEY: this.#key,
      PORTCULLIS_DATA: join(this.#home, machine.name),
      PORTCULLIS_BPFFS: this.#bpffs(machine.name),
      PORTCULLIS_EARLY_DROP: 'off',
      ...(this.#givenUrl === null ? {} : { DATABASE_URL: this.#givenUrl }),
    };
  }

  #run(
    machine: Machine,
    name: string,
    command: readonly string[],
    {
      cwd = this.#home,
      env: more = {},
    }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
  ): void {
    const log = join(this.#home, `${name}.log`);
    const file = openSync(log, 'w');
    const env = { ...this.#environment(machine), ...more };
    const child = machine.namespace.spawn(command, { env, cwd, stdio: ['ignore', file, file] });
    closeSync(file);
    this.#programs.set(name, { child, log });
  }

  /** Runs an operator's command on the host of control; its stdout. */
  async command(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.portcullis(this.control, ...args);
    if (code !== 0) throw new Error(`portcullis ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** Runs a command on a host, with the host's own data directory. */
  async portcullis(
    machine: Machine,
    ...args: readonly string[]
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const [program, ...rest] = machine.namespace.command(LAUNCHER, ...args);
    const env = this.#environment(machine);
    const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout, stderr };
  }

  /** Starts a command on a host; its output is the log of the host's name. */
  launch(machine: Machine, ...args: readonly string[]): void {
    this.#run(machine, machine.name, [LAUNCHER, ...args]);
  }

  /** The credential file of an edge. */
  credential(name: string): string {
    return readFileSync(join(this.#home, `${name}.json`), 'utf8').trim();
  }

  /**
   * Why an agent with a copy of this credential is refused on the host of control; it joins as the edge of this name.
   */
  async joinAs(name: string, credential: string): Promise<string> {
    const agent = { kind: 'edge', name } as const;
    // Its sockets belong to the namespace in which they are opened, so a process of that namespace opens them.
    const script = `
      const { connectControl } = await import(${JSON.stringify(import.meta.resolve('@portcullis/link/transport/connect.ts'))});
      const link = await connectControl(JSON.parse(process.env.PLACE));
      link.onConnect(() => { console.log('admitted'); process.exit(); });
      link.onRefused((reason) => { console.log(reason); process.exit(); });`;
    const place = JSON.stringify({ agent, credential, path: '' });
    const [program, ...rest] = this.control.namespace.command(
      process.execPath,
      '--input-type=module',
      '-e',
      script,
    );
    const child = spawn(program, rest, {
      env: { ...process.env, PLACE: place },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    await ended(child);
    return said.toString();
  }

  /** Lines that the program has logged since it was started last. */
  logOf(name: string): string {
    const program = this.#programs.get(name);
    return program === undefined ? '' : readFileSync(program.log, 'utf8');
  }

  /** Waits until a program has logged a text. */
  async logged(name: string, text: string): Promise<void> {
    const until = performance.now() + START_MS;
    while (!this.logOf(name).includes(text)) {
      if (performance.now() > until || !this.#isRunning(name)) {
        throw new Error(`${name} did not say "${text}":\n${this.logOf(name).slice(-4_000)}`);
      }
      await delay(20);
    }
  }

  #isRunning(name: string): boolean {
    const child = this.#programs.get(name)?.child;
    return child?.exitCode === null && child.signalCode === null;
  }

  /** Throws with the end of its log if a program has ended by itself. */
  requireRunning(name: string): void {
    if (this.#isRunning(name)) return;
    const { exitCode, signalCode } = this.#programs.get(name)?.child ?? {};
    throw new Error(
      `${name} ended by itself (${exitCode ?? signalCode}):\n${this.logOf(name).slice(-4_000)}`,
    );
  }

  /** Ends a program with a signal, and waits for its end. */
  async end(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#programs.get(name)?.child;
    if (child === undefined) return;
    child.kill(signal);
    await ended(child);
  }

  signal(name: string, signal: NodeJS.Signals): void {
    process.kill(this.pidOf(name), signal);
  }

  /** Ends the lease as when control has not received anything of an edge for the time of its lease. */
  async endLease(name: string): Promise<void> {
    await this.#query(
      'update edges set in_service = false, left_service_at = now(), instance = null where name = $1',
      [name],
    );
  }

  /** Makes it old, as when its credential was given to it a month ago. */
  async ageCredential(name: string): Promise<void> {
    await this.#query("update edges set enrolled_at = now() - interval '31 days' where name = $1", [
      name,
    ]);
  }

  /** Waits until every edge that has joined is in service with this generation in its kernel. */
  async confirmed(generation: number, withinMs: number): Promise<void> {
    const until = performance.now() + withinMs;
    const names = this.edges.map(({ name }) => name);
    for (;;) {
      const behind = await this.#query(
        'select name, confirmed_generation from edges where name = any ($1) and (not in_service or confirmed_generation < $2)',
        [names, generation],
      );
      if (behind.length === 0) return;
      if (performance.now() > until)
        throw new Error(`${JSON.stringify(behind)} have not confirmed ${generation}`);
      await delay(20);
    }
  }

  async #query(text: string, values: readonly unknown[]): Promise<readonly unknown[]> {
    const client = new pg.Client({ connectionString: migrationUrl(this.databaseUrl) });
    await client.connect();
    try {
      return (await client.query(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  /** Cuts the wire of one host, or mends it. */
  setWire(name: string, state: 'up' | 'down'): void {
    this.control.namespace.run('ip', 'link', 'set', `to-${name}`, state);
  }

  async stop(): Promise<void> {
    for (const { name } of this.#all) await this.end(name, 'SIGTERM');
    await this.end('replica', 'SIGTERM');
    await this.end('control', 'SIGTERM');
    await this.end('nats', 'SIGKILL');
    for (const bridge of this.#bridges) {
      bridge.kill();
      await ended(bridge);
    }
    for (const { name } of this.#all) {
      unmountBpffs(this.#bpffs(name));
      spawnSync('umount', [join(this.#home, name)]);
    }
    this.#network.destroy();
    rmSync(this.#home, { recursive: true, force: true });
  }
}
