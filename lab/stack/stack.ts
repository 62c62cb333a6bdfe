import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { generateSecret } from '@portcullis/control/access/index.ts';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { ApiClient } from './api-client.ts';
import { mountBpffs, unmountBpffs } from '../kernel/bpffs.ts';
import { EDGE_DEVICE, HOST, type Internet, SERVER } from './internet.ts';
import { type Namespace, pidsIn } from './netns.ts';

/** A running `portcullis up --enforce` on the edge host of a lab's internet. */
export interface Stack {
  readonly api: ApiClient;
  /** With the key that a fleet file calls `${LAB_OTHER_KEY}`, for another organisation. */
  readonly other: ApiClient;
  readonly key: string;
  readonly dataDir: string;
  readonly fleetFile: string;
  /** Pid of `up` itself; its children are in its process group. */
  readonly pid: number;
  /** Runs another portcullis command on the edge host, on the same data; its stdout. */
  command(...args: readonly string[]): Promise<string>;
  /** The process of this program under `up`, such as `edge/main.ts`. */
  pidOf(program: string): number;
  /** Rewrites and applies the fleet file; resolves when an edge has it in its kernel. */
  applyFleet(text: string): Promise<void>;
  /** Kills `up` and everything it started with SIGKILL. */
  killAll(): Promise<void>;
  /** Stops `up` as an operator would, with SIGTERM. */
  terminate(): Promise<void>;
  /**
   * Starts `up` again on the same data; resolves with the mode that it printed, which is not `observe` with
   * --enforce.
   */
  start(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

export const API_PORT = 8080;
export const ORGANISATION = 'acme';
const root = join(import.meta.dirname, '..', '..');
/** Holdings of the first organisation of every fleet file here, independent of the server. */
const PROTECTED = SERVER.neighbours[0];
const LAUNCHER = join(root, 'portcullis');
const START_MS = 120_000;
/** Log lines shown when a start fails. */
const LOG_END = 4_000;

export interface StackOptions {
  /** YAML below `organisations: acme:` that replaces the default holdings. */
  readonly fleet?: string;
  readonly args?: readonly string[];
  /** Further files in the folder of the fleet file, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** `false` disables early drop, so that a test sees what nftables passes. */
  readonly earlyDrop?: boolean;
  /** Maximum number of addresses in the early drop; all by default. */
  readonly earlyDropCapacity?: number;
}

/** Keeps everything in its own temporary folder; `stop` removes it. */
export async function startStack(internet: Internet, options: StackOptions = {}): Promise<Stack> {
  const home = mkdtempSync(join(scratchRoot(), 'portcullis-lab-'));
  // When run as root, control and PostgreSQL use another account, which must be able to enter the folder.
  chmodSync(home, 0o711);
  const dataDir = join(home, 'data');
  const fleetFile = join(home, 'fleet.yaml');
  const key = generateSecret();
  const otherKey = generateSecret();
  writeFileSync(fleetFile, options.fleet ?? defaultFleet());
  for (const [name, text] of Object.entries(options.files ?? {}))
    writeFileSync(join(home, name), text);
  const bridge = await startBridge(internet.edge, join(home, 'api.sock'));
  const bpffs = join(home, 'bpffs');
  mountBpffs(bpffs);
  const env = {
    ...process.env,
    LAB_KEY: key,
    LAB_OTHER_KEY: otherKey,
    XDG_STATE_HOME: home,
    PORTCULLIS_BPFFS: bpffs,
    PORTCULLIS_EARLY_DROP: options.earlyDrop === false ? 'off' : 'on',
    PORTCULLIS_EARLY_DROP_ROOM: String(options.earlyDropCapacity ?? ''),
  };
  const stack = new RunningStack(internet.edge, {
    home,
    dataDir,
    fleetFile,
    env,
    bridge,
    key,
    otherKey,
  });
  try {
    await stack.start(...(options.args ?? ['--enforce']));
    await stack.api.enforced(PROTECTED);
  } catch (error) {
    await stack.stop();
    throw error;
  }
  return stack;
}

/** The fleet that the system tests and `npm run lab` protect: the server behind the edge, and the edge host itself. */
export function defaultFleet(): string {
  return `organisations:
  ${ORGANISATION}:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
      - { cidr: "2001:db8:5::/48", asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    services:
      - id: 501
        name: edge-host
        addresses:
          - { ip: ${HOST[4]}, since: "2026-01-01T00:00:00+00:00" }
          - { ip: "${HOST[6]}", since: "2026-01-01T00:00:00+00:00" }
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
`;
}

interface StackParts {
  readonly home: string;
  readonly dataDir: string;
  readonly fleetFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly bridge: ChildProcess;
  readonly key: string;
  readonly otherKey: string;
}

class RunningStack implements Stack {
  readonly api: ApiClient;
  readonly other: ApiClient;
  readonly dataDir: string;
  readonly fleetFile: string;
  readonly #edge: Namespace;
  readonly #parts: StackParts;
  #up: ChildProcess | null = null;

  constructor(edge: Namespace, parts: StackParts) {
    this.#edge = edge;
    this.#parts = parts;
    this.dataDir = parts.dataDir;
    this.fleetFile = parts.fleetFile;
    this.api = new ApiClient(join(parts.home, 'api.sock'), parts.key);
    this.other = new ApiClient(join(parts.home, 'api.sock'), parts.otherKey);
  }

  get key(): string {
    return this.#parts.key;
  }

  get pid(): number {
    return this.#up?.pid ?? 0;
  }

  async start(...args: readonly string[]): Promise<string> {
    const log = openSync(this.#logFile, 'a');
    const up = this.#edge.spawn([LAUNCHER, 'up', ...this.#options(), ...args], {
      env: this.#parts.env,
      stdio: ['ignore', 'pipe', log],
    });
    closeSync(log);
    this.#up = up;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const impatient = setTimeout(() => reject(new Error('up took too long')), START_MS);
    let text = '';
    up.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith('\n}\n')) resolve(text);
    });
    up.once('exit', (code) => reject(new Error(`up ended with ${code}:\n${this.#logEnd()}`)));
    try {
      const { mode, reason } = JSON.parse(await promise) as { mode: string; reason: string | null };
      if (args.includes('--enforce') && mode === 'observe')
        throw new Error(`not enforcing: ${reason}`);
      return mode;
    } finally {
      clearTimeout(impatient);
    }
  }

  /** Standard error of the processes: many warnings where tests kill them on purpose. */
  get #logFile(): string {
    return join(this.#parts.home, 'up.log');
  }

  #logEnd(): string {
    return readFileSync(this.#logFile, 'utf8').slice(-LOG_END);
  }

  async command(...args: readonly string[]): Promise<string> {
    const [program, ...rest] = this.#edge.command(LAUNCHER, ...args, '--data', this.dataDir);
    const child = spawn(program, rest, {
      env: this.#parts.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`portcullis ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  pidOf(program: string): number {
    const found = pidsOn(this.#edge, this.#parts.bridge.pid).find((pid) =>
      commandLineOf(pid).includes(program),
    );
    if (found === undefined) throw new Error(`${program} does not run`);
    return found;
  }

  async applyFleet(text: string): Promise<void> {
    writeFileSync(this.fleetFile, text);
    const said = await this.command('fleet', 'apply', this.fleetFile, '--json', '--force');
    const { data } = JSON.parse(said) as {
      readonly data: { readonly generation: number | null };
    };
    const { generation } = data;
    if (generation !== null) await this.api.liveAt(PROTECTED, generation);
  }

  async killAll(): Promise<void> {
    const gone = this.#up === null ? null : ended(this.#up);
    const left = (): number[] => pidsOn(this.#edge, this.#parts.bridge.pid);
    const deadline = performance.now() + START_MS;
    // Repeated for processes forked since; a killed process disappears a little later.
    for (let pids = left(); pids.length > 0; pids = left()) {
      if (performance.now() > deadline) throw new Error(`still there: ${pids.join(', ')}`);
      for (const pid of pids) kill(pid);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await gone;
    this.#up = null;
  }

  async terminate(): Promise<void> {
    if (this.#up === null) return;
    this.#up.kill('SIGTERM');
    await ended(this.#up);
    this.#up = null;
  }

  async stop(): Promise<void> {
    await this.terminate();
    this.#parts.bridge.kill();
    await ended(this.#parts.bridge);
    unmountBpffs(join(this.#parts.home, 'bpffs'));
    rmSync(this.#parts.home, { recursive: true, force: true });
  }

  #options(): string[] {
    const listen = ['--listen', `0.0.0.0:${API_PORT}`, '--metrics-listen', 'off'];
    return ['--json', '--data', this.dataDir, '--fleet', this.fleetFile, ...listen];
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

/** Empty if it has ended. */
function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** Works also when it has already ended: Ctrl-C reaches every process of the terminal. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

function pidsOn(edge: Namespace, but: number | undefined): number[] {
  return pidsIn(edge.name).filter((pid) => pid !== but);
}

/** The edge host's loopback is in another network namespace; a Unix socket crosses it. */
export async function startBridge(edge: Namespace, socket: string): Promise<ChildProcess> {
  const bridge = edge.spawn(
    [process.execPath, join(import.meta.dirname, 'bridge.ts'), socket, String(API_PORT)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await once(bridge.stdout as NonNullable<ChildProcess['stdout']>, 'data');
  return bridge;
}
