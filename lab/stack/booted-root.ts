import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ended } from './discarded-root.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const BOOT_MS = 60_000;
const POLL_MS = 200;

/**
 * The first words of a machine: an overlay of this one with the few file systems and devices that systemd needs, in
 * namespaces of its own, and no unit but those of its basic target.
 */
const BOOT = `set -e
echo $$ >"$1/cgroup.procs"; shift
exec unshare --pid --fork --kill-child --mount --net --uts --ipc --cgroup --propagation private sh -ec '
home=$0; r=$home/root
mount -t tmpfs tmpfs "$home"; mkdir "$home/upper" "$home/work" "$r"
mount -t overlay overlay -o "lowerdir=/,upperdir=$home/upper,workdir=$home/work" "$r"
mount -t proc proc "$r/proc"; mount -t sysfs sysfs "$r/sys"; mount -t cgroup2 cgroup2 "$r/sys/fs/cgroup"
mount -t bpf bpf "$r/sys/fs/bpf"
for one in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$r/$one"; done
for one in null zero full random urandom tty; do touch "$r/dev/$one"; mount --bind "/dev/$one" "$r/dev/$one"; done
mkdir "$r/dev/shm" "$r/dev/pts"; mount -t tmpfs tmpfs "$r/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$r/dev/pts"
ln -s pts/ptmx "$r/dev/ptmx"; ln -s /proc/self/fd "$r/dev/fd"
for one; do mkdir -p "$r$one"; mount --bind "$one" "$r$one"; done
rm -rf "$r"/etc/systemd/system/*.wants
exec chroot "$r" env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --show-status=no --log-target=null --unit=basic.target' "$@"`;

/** A discarded overlay of this machine that systemd boots: its units run as on a host. */
export class BootedRoot {
  readonly #home = mkdtempSync(join(tmpdir(), 'portcullis-booted-'));
  readonly #group = join(cgroupRoot() ?? '', `portcullis-booted-${process.pid}`);
  #holder: ChildProcess | null = null;
  #init = '';

  async boot(): Promise<void> {
    mkdirSync(this.#group);
    const seen = [REPOSITORY, dirname(process.execPath)];
    const holder = spawn('sh', ['-c', BOOT, 'sh', this.#group, this.#home, ...seen], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    this.#holder = holder;
    const deadline = performance.now() + BOOT_MS;
    for (;;) {
      this.#init = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim();
      const { said } = this.run('systemctl', 'is-system-running');
      if (/^(?:running|degraded)$/m.test(said)) break;
      if (holder.exitCode !== null || performance.now() > deadline)
        throw new Error(`systemd did not boot: ${said}`);
      await delay(POLL_MS);
    }
    this.run('ip', 'link', 'set', 'lo', 'up');
    // An edge without a device of the outside enforces nothing.
    this.run('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'outside');
    this.run('ip', 'address', 'add', '192.0.2.10/24', 'dev', 'eth0');
    for (const device of ['eth0', 'outside']) this.run('ip', 'link', 'set', device, 'up');
  }

  /** Where a path of the machine is for this process. */
  path(inside: string): string {
    return `/proc/${this.#init}/root${inside}`;
  }

  run(...command: readonly string[]): Ended {
    const spaces = ['--mount', '--net', '--pid', '--uts', '--ipc', '--root', '--wd=/'];
    const { status, stdout, stderr } = spawnSync(
      'nsenter',
      ['--target', this.#init, ...spaces, ...command],
      { encoding: 'utf8', timeout: 60_000 },
    );
    return { status, said: stdout + stderr };
  }

  async destroy(): Promise<void> {
    if (this.#holder !== null && this.#holder.exitCode === null) {
      const gone = once(this.#holder, 'exit');
      this.#holder.kill('SIGKILL');
      await gone;
    }
    await removeGroup(this.#group);
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Where the hierarchy of cgroups, version 2, is mounted; null if it is not. */
export function cgroupRoot(): string | null {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return (
    mounts.map((line) => line.split(' ')).find(([, , kind]) => kind === 'cgroup2')?.[1] ?? null
  );
}

/** Waits for the last processes, which the kernel ends after their namespace. */
async function removeGroup(group: string): Promise<void> {
  const deadline = performance.now() + BOOT_MS;
  for (;;) {
    try {
      removeGroupsIn(group);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      if (performance.now() > deadline) throw error;
      await delay(POLL_MS);
    }
  }
}

function removeGroupsIn(group: string): void {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroupsIn(join(group, entry.name));
  rmdirSync(group);
}
