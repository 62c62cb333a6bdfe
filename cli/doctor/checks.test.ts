import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Asked, examine, type Finding, type Role } from './checks.ts';
import type { Host } from './host.ts';

/** A host on which every role works. */
const FILES: Readonly<Record<string, string>> = {
  '/proc/sys/kernel/osrelease': '6.1.0-30-amd64',
  '/proc/self/mounts': 'bpf /sys/fs/bpf bpf rw 0 0',
  '/proc/sys/net/core/bpf_jit_enable': '1',
  '/sys/class/net/eth0/operstate': 'up',
  '/proc/sys/net/netfilter/nf_conntrack_max': '262144',
  '/proc/sys/net/netfilter/nf_conntrack_count': '12',
  '/proc/sys/net/ipv4/ip_forward': '1',
  '/proc/sys/net/core/rmem_max': '8388608',
};
const OUTPUTS: Readonly<Record<string, string>> = {
  'timedatectl show --property=NTPSynchronized --value': 'yes',
  'nft --version': 'nftables v1.0.6 (Lester Gooch #5)',
  'nft list tables': 'table inet portcullis',
  'ethtool -i eth0': 'driver: ice\nversion: 6.1',
  'docker version --format {{.Server.Version}}': '26.1',
  'docker version': 'Client:',
  'flock --version': 'flock from util-linux',
};
const GIB = 1024 ** 3;

function hostOf(
  changes: Partial<Omit<Host, 'file' | 'output'>> & {
    readonly files?: Readonly<Record<string, string | null>>;
    readonly outputs?: Readonly<Record<string, string | null>>;
  } = {},
): Host {
  const { files = {}, outputs = {}, ...rest } = changes;
  return {
    isRoot: true,
    file: (path) => ({ ...FILES, ...files })[path] ?? null,
    output: (...words) => ({ ...OUTPUTS, ...outputs })[words.join(' ')] ?? null,
    disk: () => ({ freeBytes: 40 * GIB, sizeBytes: 100 * GIB }),
    devices: () => ['eth0'],
    reaches: async () => true,
    status: async () => 200,
    document: async () => ({ status: 'ready', hint: null }),
    ...rest,
  };
}

const asked = (role: Role, more: Partial<Asked> = {}): Asked => ({
  role,
  dataDir: '/var/lib/portcullis',
  credential: 'pce_secret',
  url: 'https://portcullis.example.net',
  ...more,
});

const wrong = (found: readonly Finding[]): Finding[] => found.filter(({ state }) => state !== 'ok');

test('a host without faults has nothing to repair, in every role', async () => {
  for (const role of ['control', 'edge', 'node', 'collector'] as const) {
    const found = await examine(hostOf(), asked(role));
    assert.deepEqual(wrong(found), []);
    assert.ok(found.length > 4, role);
  }
});

const remote = JSON.stringify({
  kind: 'edge',
  name: 'fra1',
  secret: 'pce_x',
  nats: { servers: ['tls://nats.example.net:4222'], jwt: 'j', ca: null },
});

const FAULTS: readonly (readonly [
  role: Role,
  host: Parameters<typeof hostOf>[0],
  state: Finding['state'],
  says: RegExp,
  more?: Partial<Asked>,
])[] = [
  ['edge', { isRoot: false }, 'fault', /rights: not root. run it with sudo/],
  ['node', { isRoot: false }, 'warning', /rights: not root/],
  [
    'edge',
    { files: { '/proc/sys/kernel/osrelease': '5.10.0-8' } },
    'warning',
    /kernel: Linux 5\.10.*5\.16/,
  ],
  [
    'edge',
    { outputs: { 'timedatectl show --property=NTPSynchronized --value': 'no' } },
    'warning',
    /clock: not synchronised. install chrony/,
  ],
  [
    'control',
    { disk: () => ({ freeBytes: GIB / 4, sizeBytes: 100 * GIB }) },
    'fault',
    /disk: 0\.3 GiB of 100/,
  ],
  [
    'control',
    { disk: () => ({ freeBytes: 5 * GIB, sizeBytes: 100 * GIB }) },
    'warning',
    /disk: 5\.0 GiB/,
  ],
  ['control', { disk: () => null }, 'fault', /disk: .*cannot be read. give --data/],
  ['edge', { outputs: { 'nft --version': null } }, 'fault', /nftables: nft is missing. install it/],
  [
    'edge',
    { outputs: { 'nft --version': 'nftables v0.9.8' } },
    'warning',
    /nftables: nft v0\.9\.8/,
  ],
  ['edge', { outputs: { 'nft list tables': null } }, 'fault', /lists no tables. load it/],
  [
    'edge',
    { outputs: { 'systemctl is-active firewalld': 'active' } },
    'warning',
    /firewalld is active.*disable --now firewalld/,
  ],
  [
    'edge',
    { files: { '/proc/self/mounts': '' } },
    'warning',
    /early drop: .*not mounted. mount -t bpf/,
  ],
  [
    'edge',
    { files: { '/proc/sys/net/core/bpf_jit_enable': '0' } },
    'warning',
    /interpreted. sysctl net\.core\.bpf_jit_enable=1/,
  ],
  ['edge', { devices: () => [] }, 'fault', /devices: none of the outside/],
  [
    'edge',
    { files: { '/sys/class/net/eth0/operstate': 'down' } },
    'warning',
    /eth0 is down. ip link set eth0 up/,
  ],
  [
    'edge',
    { outputs: { 'ethtool -i eth0': 'driver: e1000' } },
    'warning',
    /eth0: no XDP in its driver/,
  ],
  [
    'edge',
    { files: { '/proc/sys/net/netfilter/nf_conntrack_max': null } },
    'warning',
    /not loaded. modprobe nf_conntrack/,
  ],
  [
    'edge',
    { files: { '/proc/sys/net/netfilter/nf_conntrack_max': '65536' } },
    'warning',
    /12 of 65536.*nf_conntrack_max=262144/,
  ],
  [
    'edge',
    { files: { '/proc/sys/net/netfilter/nf_conntrack_count': '250000' } },
    'fault',
    /nearly full: sysctl/,
  ],
  [
    'node',
    { outputs: { 'docker version --format {{.Server.Version}}': null } },
    'fault',
    /Docker: it does not answer. install/,
  ],
  ['node', { files: { '/proc/sys/net/ipv4/ip_forward': '0' } }, 'fault', /forwarding: off. sysctl/],
  [
    'collector',
    { files: { '/proc/sys/net/core/rmem_max': '212992' } },
    'warning',
    /receive buffer: at most 212992.*rmem_max=4194304/,
  ],
  ['control', { outputs: { 'flock --version': null } }, 'fault', /flock is missing/],
  [
    'control',
    { document: async () => ({ hint: 'start control with --trusted-proxy 10.0.0.5' }) },
    'warning',
    /proxy: .*does not trust. start control with --trusted-proxy 10\.0\.0\.5/,
  ],
  [
    'control',
    { status: async (url) => (url.includes('127.0.0.1') ? new Error('x') : 200) },
    'fault',
    /another program listens on 8080/,
  ],
  [
    'edge',
    {},
    'fault',
    /credential: there is none. portcullis tokens create edge/,
    { credential: null },
  ],
  ['edge', {}, 'fault', /credential: .*JSON.*join URL TOKEN --replace/, { credential: '{' }],
  [
    'edge',
    { reaches: async () => false },
    'fault',
    /tls:\/\/nats\.example\.net:4222 does not answer. start the NATS/,
    { credential: remote },
  ],
  [
    'edge',
    {
      status: async () =>
        new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }),
    },
    'fault',
    /https:\/\/portcullis\.example\.net does not answer: connect ECONNREFUSED/,
  ],
  [
    'control',
    {
      status: async (url) =>
        url.startsWith('https:') ? failedBy('SELF_SIGNED_CERT_IN_CHAIN') : 200,
    },
    'fault',
    /example\.net: it answers with a certificate that this host does not trust. If .* --ca/,
  ],
  [
    'edge',
    { status: async () => failedBy('ERR_TLS_CERT_ALTNAME_INVALID') },
    'fault',
    /it answers with a certificate that is not valid here: the reason/,
  ],
  ['edge', { status: async () => 404 }, 'fault', /answers 404. is it a Portcullis/],
];

function failedBy(code: string): Error {
  const cause = Object.assign(new Error('the reason'), { code });
  return new TypeError('fetch failed', { cause });
}

for (const [role, host, state, says, more] of FAULTS) {
  test(`${role}: ${says.source}`, async () => {
    const [first, ...others] = wrong(await examine(hostOf(host), asked(role, more)));
    assert.deepEqual([first?.state, others], [state, []]);
    assert.match(`${first?.check}: ${first?.found}. ${first?.repair}`, says);
  });
}
