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

/**
 * A discarded overlay of this machine as the root directory: installing there works as on a host whose systemd is not
 * running.
 */
export class DiscardedRoot {
  readonly #home = mkdtempSync(join(tmpdir(), 'portcullis-root-'));
  readonly #root = join(this.#home, 'root');
  #holder: ChildProcess | null = null;

  async make(): Promise<void> {
    const seen = [REPOSITORY, dirname(process.execPath)];
    const script = `set -e
mount -t tmpfs tmpfs "$0"; mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
mount -t proc proc "$0/root/proc"; mount --bind /dev "$0/root/dev"; mount -t tmpfs tmpfs "$0/root/run"
for one; do mkdir -p "$0/root$one"; mount --bind "$one" "$0/root$one"; done
echo made; exec cat`;
    const mounting = ['--mount', '--propagation', 'private', 'sh', '-c', script];
    const holder = spawn('unshare', [...mounting, this.#home, ...seen], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#holder = holder;
    const [made] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as [
      unknown,
    ];
    assert.equal(String(made), 'made\n');
  }

  run(...command: readonly string[]): Ended {
    const place = ['--mount', '--target', String(this.#holder?.pid), 'chroot', this.#root];
    const { status, stdout, stderr } = spawnSync('nsenter', [...place, ...command], {
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
