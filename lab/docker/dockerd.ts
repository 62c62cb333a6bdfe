import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Namespace, Network } from '../stack/netns.ts';

export interface DockerdOptions {
  /** Namespace for its networks and iptables rules; by default its own, with only `lo`. */
  readonly namespace?: Namespace;
  /** Containers outlive the daemon. */
  readonly liveRestore?: boolean;
  /** Whether docker-proxy listens for published ports; on by default, as in Docker. */
  readonly userlandProxy?: boolean;
  /** `false` creates no `docker0`, for a namespace that has one already. */
  readonly defaultBridge?: boolean;
  /** Containers run in a user namespace (`userns-remap`) in which root is this account of the host. */
  readonly remapFrom?: number;
}

const START_MS = 120_000;
const STOP_MS = 30_000;
const POLL_MS = 20;
const LOG_END = 4_000;

/**
 * A real dockerd for a test, with nothing in common with one of the machine: its own folders, socket, network
 * namespace, control groups, mount namespace and process namespace. The kernel ends everything of the last when its
 * first process ends, and that ends when the test's does, however that comes: containers, shims and mounts never stay.
 */
export class Dockerd {
  readonly #home = mkdtempSync(join(tmpdir(), 'pcl-dockerd-'));
  readonly #cgroup: string;
  readonly #network: Network | null;
  readonly #options: DockerdOptions;
  #world: ChildProcess | null = null;
  /** The first process inside, by its pid outside. */
  #holder = 0;
  #daemon: ChildProcess | null = null;
  readonly namespace: Namespace;

  /** Starts one and resolves when it answers. The label is short and its own within the test's process. */
  static async start(label: string, options: DockerdOptions = {}): Promise<Dockerd> {
    const dockerd = new Dockerd(label, options);
    try {
      await dockerd.#enter();
      await dockerd.launch();
      return dockerd;
    } catch (error) {
      await dockerd.stop();
      throw error;
    }
  }

  private constructor(label: string, options: DockerdOptions) {
    this.#options = options;
    this.#cgroup = `pcl-${process.pid}-${label}`;
    this.#network = options.namespace === undefined ? new Network(label) : null;
    this.namespace = options.namespace ?? (this.#network as Network).create('docker');
  }

  /** Path of its unix socket. */
  get socket(): string {
    return join(this.#home, 'docker.sock');
  }

  get dataRoot(): string {
    return join(this.#home, 'data');
  }

  /** The pid of the daemon itself, as seen from outside its process namespace. */
  get pid(): number {
    const launcher = this.#daemon?.pid ?? 0;
    return Number(readFileSync(`/proc/${launcher}/task/${launcher}/children`, 'utf8').trim());
  }

  /** Starts the daemon again after `end`; its containers and images are those from before. */
  async launch(options: Pick<DockerdOptions, 'liveRestore' | 'userlandProxy'> = {}): Promise<void> {
    const { liveRestore = false, userlandProxy = true } = { ...this.#options, ...options };
    const log = openSync(this.#logFile, 'a');
    const inside = ['--target', String(this.#holder), '--mount', '--pid', '--net'];
    const settings = [
      `--data-root=${this.dataRoot}`,
      `--exec-root=${join(this.#home, 'exec')}`,
      `--pidfile=${join(this.#home, 'pid')}`,
      `--config-file=${join(this.#home, 'daemon.json')}`,
      `--host=unix://${this.socket}`,
      `--cgroup-parent=/${this.#cgroup}`,
      `--live-restore=${liveRestore}`,
      `--userland-proxy=${userlandProxy}`,
      ...(this.#options.defaultBridge === false ? ['--bridge=none'] : []),
      ...(this.#options.remapFrom === undefined ? [] : [`--userns-remap=${REMAPPED}`]),
    ];
    this.#daemon = spawn('nsenter', [...inside, 'dockerd', ...settings], {
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const ended = once(this.#daemon, 'exit');
    await within(START_MS, 'dockerd did not answer', async (signal) => {
      while (!signal.aborted) {
        if (await this.#answers()) return;
        if (await Promise.race([ended.then(() => true), delay(POLL_MS, false)]))
          throw new Error(`dockerd ended:\n${this.#logEnd()}`);
      }
    });
  }

  /** Stops only the daemon, and resolves when it is gone. Without live restore a graceful stop ends containers. */
  async end(how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const daemon = this.#daemon;
    if (daemon === null) return;
    const ended = once(daemon, 'exit');
    process.kill(this.pid, how);
    await within(STOP_MS, 'dockerd did not end', () => ended);
    this.#daemon = null;
    // A stale pid file of a killed daemon would make the next one refuse to start.
    if (how === 'SIGKILL') rmSync(join(this.#home, 'pid'), { force: true });
  }

  /** Pids of a container's processes as seen from outside, also while the daemon is away. */
  processesOf(id: string): number[] {
    const lists = globSync([
      `/sys/fs/cgroup/${this.#cgroup}/${id}/cgroup.procs`,
      `/sys/fs/cgroup/*/${this.#cgroup}/${id}/cgroup.procs`,
    ]);
    const pids = lists.flatMap((list) => readFileSync(list, 'utf8').split('\n').filter(Boolean));
    return [...new Set(pids)].map(Number);
  }

  /** Suspends the daemon: the socket accepts connections and nothing answers until `resume`. */
  hang(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
    // nsenter stops itself together with its child, and would never wait for its end.
    this.#daemon?.kill('SIGCONT');
  }

  /**
   * Removes all of it: containers, shims, mounts, control groups, folders, and its network namespace if it is its own.
   */
  async stop(): Promise<void> {
    const world = this.#world;
    this.#world = null;
    if (world !== null && world.exitCode === null && world.signalCode === null) {
      const gone = once(world, 'exit');
      process.kill(this.#holder, 'SIGKILL');
      await within(STOP_MS, 'the process namespace of dockerd did not end', () => gone);
    }
    await within(STOP_MS, 'control groups of dockerd stay', (signal) => this.#dropCgroups(signal));
    this.#network?.destroy();
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Sends a request to its API, for actions that the engine under test does not offer. */
  async call(method: string, path: string, body?: Buffer | object): Promise<string> {
    const raw = Buffer.isBuffer(body);
    const headers = body === undefined ? {} : { 'Content-Type': raw ? TAR : 'application/json' };
    const asked = request({ socketPath: this.socket, method, path, headers, timeout: START_MS });
    asked.once('timeout', () => asked.destroy(new Error(`${method} ${path} took too long`)));
    asked.end(body === undefined || raw ? body : JSON.stringify(body));
    const [answer] = await once(asked, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    // An import answers 200 before it begins and reports its result in the stream.
    if (answer.statusCode >= 400 || (raw && text.includes('"error"')))
      throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, LOG_END)}`);
    return text;
  }

  /**
   * Makes an image of one layer, `name:tag`, of an uncompressed tar of its files. `changes` are lines of a Dockerfile
   * that say how it runs, such as `CMD ["/bin/server"]`, `USER 1000` or `WORKDIR /home/container`.
   */
  async importImage(reference: string, files: Buffer, changes: readonly string[]): Promise<void> {
    const [repo = '', tag = 'latest'] = reference.split(':');
    const query = new URLSearchParams({ fromSrc: '-', repo, tag });
    for (const change of changes) query.append('changes', change);
    await this.call('POST', `/images/create?${query}`, files);
  }

  async #enter(): Promise<void> {
    mkdirSync(join(this.#home, 'exec'));
    // Its own, or it would read the machine's.
    writeFileSync(join(this.#home, 'daemon.json'), '{}');
    // It reads a pipe from us: the kernel closes the pipe when this process ends, and the first process then ends.
    const unshare = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const network = `--net=/run/netns/${this.namespace.name}`;
    const script = `${MOUNT_CGROUPS}; ${this.#mountRange()}; echo ready; cat; exit 0`;
    const first = ['--propagation', 'slave', 'sh', '-c', script];
    const world = spawn('nsenter', [network, 'unshare', ...unshare, ...first], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#world = world;
    let said = '';
    world.stderr.on('data', (chunk: Buffer) => (said = `${said}${chunk}`.slice(-LOG_END)));
    const failed = once(world, 'exit').then(([code]) => {
      throw new Error(`no namespaces for dockerd: exit code ${code}: ${said}`);
    });
    failed.catch(() => undefined);
    await within(START_MS, 'no namespaces for dockerd', () =>
      Promise.race([failed, once(world.stdout, 'data')]),
    );
    const children = readFileSync(`/proc/${world.pid}/task/${world.pid}/children`, 'utf8');
    this.#holder = Number(children.trim());
  }

  /** Shell commands that give the daemon's account its range, in the private mount namespace. */
  #mountRange(): string {
    const from = this.#options.remapFrom;
    if (from === undefined) return ':';
    // The daemon refuses data that the root of its containers cannot reach.
    chmodSync(this.#home, 0o711);
    const range = join(this.#home, 'range');
    writeFileSync(
      range,
      REMAPPED.split(':')
        .map((name) => `${name}:${from}:65536\n`)
        .join(''),
    );
    return `mount --bind ${range} /etc/subuid && mount --bind ${range} /etc/subgid`;
  }

  async #answers(): Promise<boolean> {
    if (!existsSync(this.socket)) return false;
    try {
      return (await this.call('GET', '/_ping')) === 'OK';
    } catch {
      return false;
    }
  }

  async #dropCgroups(signal: AbortSignal): Promise<void> {
    const roots = globSync([`/sys/fs/cgroup/${this.#cgroup}`, `/sys/fs/cgroup/*/${this.#cgroup}`]);
    for (const root of roots)
      while (existsSync(root) && !signal.aborted) {
        try {
          // Files of a control group cannot be removed; its folders can, the deepest first.
          for (const folder of globSync(`${root}/**/`).toSorted().toReversed()) rmdirSync(folder);
        } catch {
          // Its last process is still ending.
          await delay(POLL_MS);
        }
      }
  }

  get #logFile(): string {
    return join(this.#home, 'dockerd.log');
  }

  #logEnd(): string {
    return readFileSync(this.#logFile, 'utf8').slice(-LOG_END);
  }
}

/** The account and the group whose subordinate ranges the daemon uses. */
const REMAPPED = 'nobody:nogroup';
const TAR = 'application/x-tar';

/**
 * Mounts as Debian's cgroupfs-mount does it, where nothing has mounted them; the mounts are of the private namespace.
 */
const MOUNT_CGROUPS = `if ! grep -q ' /sys/fs/cgroup' /proc/mounts; then
  mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
  for one in $(awk 'NR > 1 && $4 == 1 { print $1 }' /proc/cgroups); do
    mkdir -p /sys/fs/cgroup/$one && mount -t cgroup -o $one cgroup /sys/fs/cgroup/$one || true
  done
fi`;

async function within<T>(
  limitMs: number,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(limitMs);
  const late = once(signal, 'abort').then(() => {
    throw new Error(`${what} within ${limitMs} ms`);
  });
  late.catch(() => undefined);
  return Promise.race([work(signal), late]);
}
