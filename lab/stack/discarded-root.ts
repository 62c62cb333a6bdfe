import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const REPOSITORY = join(import.meta.dirname, '..', '..');

export interface Ended {
  readonly status: number | null;
  readonly said: string;
}

/** A network of its own with one device, so that what enforces there touches nothing of this machine. */
const OWN_NETWORK = `mount -t sysfs sysfs "$0/root/sys"; mount -t bpf bpf "$0/root/sys/fs/bpf"
ip link set lo up; ip link add eth0 type veth peer name outside; ip link set eth0 up; ip link set outside up`;

/**
 * A discarded overlay of this machine as the root directory: installing there works as on a host whose systemd is not
 * running.
 */
export class DiscardedRoot {
  readonly #home = mkdtempSync(join(tmpdir(), 'portcullis-root-'));
  readonly #root = join(this.#home, 'root');
  #holder: ChildProcess | null = null;

  /** `address`: of its only device, in a network namespace of its own; absent: it has the network of this machine. */
  async make(address: string | null = null): Promise<void> {
    const seen = [REPOSITORY, dirname(process.execPath)];
    const script = `set -e
mount -t tmpfs tmpfs "$0"; mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
mount -t proc proc "$0/root/proc"; mount --rbind /dev "$0/root/dev"; mount -t tmpfs tmpfs "$0/root/run"
for one; do mkdir -p "$0/root$one"; mount --bind "$one" "$0/root$one"; done
${address === null ? '' : `${OWN_NETWORK}; ip addr add ${address} dev eth0`}
echo made; exec cat`;
    const network = address === null ? [] : ['--net'];
    const mounting = ['--mount', ...network, '--propagation', 'private', 'sh', '-c', script];
    const holder = spawn('unshare', [...mounting, this.#home, ...seen], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#holder = holder;
    const [made] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as [
      unknown,
    ];
    assert.equal(String(made), 'made\n');
  }

  /** The words that run a command inside. */
  command(...command: readonly string[]): readonly [string, ...string[]] {
    const target = ['--mount', '--net', '--target', String(this.#holder?.pid)];
    return ['nsenter', ...target, 'chroot', this.#root, ...command];
  }

  run(...command: readonly string[]): Ended {
    const [program, ...args] = this.command(...command);
    const { status, stdout, stderr } = spawnSync(program, args, {
      encoding: 'utf8',
      timeout: 60_000,
    });
    return { status, said: stdout + stderr };
  }

  async destroy(): Promise<void> {
    if (this.#holder !== null) {
      const gone = once(this.#holder, 'exit');
      this.#holder.stdin?.end();
      await gone;
    }
    rmSync(this.#home, { recursive: true });
  }
}
