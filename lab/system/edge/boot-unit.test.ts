import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BOOT_SCRIPT } from '@portcullis/edge/boot/unit.ts';
import { skipUnless } from '../../requirements.ts';

const MAIN = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');
const REPOSITORY = dirname(dirname(MAIN));
const UNIT = '/etc/systemd/system/portcullis-boot.service';
const ENABLED = '/etc/systemd/system/sysinit.target.wants/portcullis-boot.service';
const DATA = '/var/lib/portcullis';

interface Ended {
  readonly status: number | null;
  readonly said: string;
}

/**
 * A discarded overlay of this machine as the root directory: installing there works as on a host whose systemd is not
 * running.
 */
class ThrownAwayRoot {
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

const whyNot = skipUnless(['root', 'systemd']);

describe('the unit for a boot, on a host with systemd', { skip: whyNot }, () => {
  const root = new ThrownAwayRoot();
  before(() => root.make());
  after(async () => {
    await root.destroy();
    for (const path of [UNIT, ENABLED]) assert.equal(existsSync(path), false, 'of this machine');
  });

  const bootUnit = (...args: readonly string[]): Ended =>
    root.run(process.execPath, MAIN, 'edge', 'boot-unit', '--data', DATA, ...args);
  const isThere = (path: string): boolean => root.run('test', '-e', path).status === 0;
  const isEnabled = (): string => root.run('systemctl', 'is-enabled', basename(UNIT)).said.trim();
  const modified = (): string => root.run('stat', '-c', '%y', UNIT).said;

  it('is written as it is shown, for everybody to read, enabled, and what systemd takes for right', () => {
    const { status, said } = bootUnit('--install');
    assert.equal(status, 0, said);
    assert.match(said, /is enabled/);
    assert.equal(root.run('cat', UNIT).said, bootUnit().said);
    assert.equal(root.run('stat', '-c', '%a %U', UNIT).said, '644 root\n');
    assert.equal(isEnabled(), 'enabled');
    assert.ok(isThere(ENABLED), 'it runs with sysinit.target');
    assert.deepEqual(root.run('systemd-analyze', 'verify', UNIT), { status: 0, said: '' });
  });

  it('names a script that is there, and a state directory that need not be', () => {
    const [, script, state] = /^ExecStart=\/bin\/sh "(.*)" "(.*)"$/m.exec(bootUnit().said) ?? [];
    assert.deepEqual([script, state], [BOOT_SCRIPT, `${DATA}/edge`]);
    const { status, said } = root.run('sh', BOOT_SCRIPT, `${DATA}/edge`);
    assert.equal(status, 0);
    assert.match(said, /nothing is loaded/);
  });

  it('stays as it is when it is installed again, and takes up another data directory', () => {
    bootUnit('--install');
    const before = modified();
    assert.equal(bootUnit('--install').status, 0);
    assert.equal(modified(), before);
    assert.equal(bootUnit('--install', '--data', '/srv/per cent% $x').status, 0);
    assert.match(root.run('cat', UNIT).said, /^ExecStart=.* "\/srv\/per cent%% \$\$x\/edge"$/m);
    assert.deepEqual(root.run('systemd-analyze', 'verify', UNIT), { status: 0, said: '' });
    assert.equal(isEnabled(), 'enabled');
  });

  it('is enabled again, and whole again, after half an installation', () => {
    root.run('sh', '-c', `rm -f ${ENABLED}; echo '[Unit]' > ${UNIT}`);
    assert.equal(bootUnit('--install').status, 0);
    assert.equal(root.run('cat', UNIT).said, bootUnit().said);
    assert.equal(isEnabled(), 'enabled');
  });

  it('is taken away whole, and that again is no failure', () => {
    bootUnit('--install');
    const { status, said } = bootUnit('--uninstall');
    assert.equal(status, 0, said);
    assert.deepEqual([isThere(UNIT), isThere(ENABLED)], [false, false]);
    assert.equal(bootUnit('--uninstall').status, 0);
  });

  it('is refused where a path would be another setting, where nothing may be written, and without systemd', () => {
    const injected = bootUnit('--install', '--data', '/srv/x"\nExecStart=/bin/evil\n"');
    assert.equal(injected.status, 2);
    assert.equal(isThere(UNIT), false);
    const command = [process.execPath, MAIN, 'edge', 'boot-unit', '--install', '--data', DATA];
    const unprivileged = root.run('setpriv', '--reuid=65534', '--clear-groups', ...command);
    assert.equal(unprivileged.status, 1);
    assert.match(unprivileged.said, /run this as root/);
    assert.equal(isThere(UNIT), false);
    root.run('mv', '/etc/systemd/system', '/etc/systemd/elsewhere');
    const without = bootUnit('--install');
    root.run('mv', '/etc/systemd/elsewhere', '/etc/systemd/system');
    assert.equal(without.status, 1);
    assert.match(without.said, /this host has no systemd/);
  });
});
