import { certificateProblem } from '@portcullis/caller/authority.ts';
import { parseCredential } from '@portcullis/link/credential.ts';
import type { Host } from './host.ts';

export const ROLES = ['control', 'edge', 'node', 'collector'] as const;
export type Role = (typeof ROLES)[number];

/** `warning`: it works, and something is worse than it could be. `fault`: the role does not work. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  /** The value that was found. */
  readonly found: string;
  /** How to repair it; null where nothing is wrong. */
  readonly repair: string | null;
}

export interface Asked {
  readonly role: Role;
  readonly dataDir: string;
  /** The contents of the agent's credential file; null: there is none, or the role has none. */
  readonly credential: string | null;
  /** The URL of control; null: not given. */
  readonly url: string | null;
}

type Check = (host: Host, asked: Asked) => Finding | null | Promise<Finding | null>;

const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found, repair: null });
const fault = (check: string, found: string, repair: string): Finding => ({
  check,
  state: 'fault',
  found,
  repair,
});
const warning = (check: string, found: string, repair: string): Finding => ({
  ...fault(check, found, repair),
  state: 'warning',
});

const GIB = 1024 ** 3;
const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;

const disk: Check = (host, { dataDir }) => {
  const found = host.disk(dataDir);
  if (found === null)
    return fault('disk', `${dataDir} cannot be read`, 'give --data another folder');
  const { freeBytes, sizeBytes } = found;
  const text = `${gib(freeBytes)} of ${gib(sizeBytes)} are free for ${dataDir}`;
  if (freeBytes < GIB / 2) return fault('disk', text, 'free some, or move the data with --data');
  return freeBytes < sizeBytes / 10
    ? warning('disk', text, 'free some before it is full')
    : ok('disk', text);
};

const clock: Check = (host) => {
  const answer = host.output('timedatectl', 'show', '--property=NTPSynchronized', '--value');
  if (answer === 'yes') return ok('clock', 'synchronised');
  const tracked = host.output('chronyc', '-n', 'tracking');
  if (tracked !== null && /Leap status +: Normal/.test(tracked))
    return ok('clock', 'synchronised by chrony');
  return warning(
    'clock',
    answer === 'no' ? 'not synchronised' : 'nothing says that it is synchronised',
    'install chrony: times of attacks, ends of rules and certificates depend on it',
  );
};

const rights: Check = (host, { role }) => {
  if (host.isRoot) return ok('rights', 'root');
  if (role === 'edge')
    return fault('rights', 'not root', 'run it with sudo: an edge programs the kernel');
  if (role === 'node')
    return warning(
      'rights',
      'not root',
      'run it with sudo: a node for Docker closes networks to games',
    );
  return ok('rights', 'an ordinary account');
};

const kernel: Check = (host, { role }) => {
  const text = host.file('/proc/sys/kernel/osrelease') ?? '';
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(text) ?? [];
  if (major === undefined) return fault('kernel', 'not Linux', 'edges and nodes need Linux');
  const version = Number(major) * 1_000 + Number(minor);
  if (role !== 'edge' || version >= 5_016) return ok('kernel', `Linux ${text}`);
  return warning('kernel', `Linux ${text}`, 'stateful filters need Linux 5.16 or newer');
};

const nftables: Check = (host, { role }) => {
  if (role !== 'edge') return null;
  const version = /v(\d+)\.(\d+)\.(\d+)/.exec(host.output('nft', '--version') ?? '');
  if (version === null)
    return fault('nftables', 'nft is missing', 'install it: apt-get install nftables');
  const [text, major, minor, patch] = version;
  const number = Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch);
  if (number < 1_000_006)
    return warning('nftables', `nft ${text}`, 'only 1.0.6 and newer were tried');
  if (host.isRoot && host.output('nft', 'list', 'tables') === null) {
    return fault(
      'nftables',
      'the kernel lists no tables',
      'load it: modprobe nf_tables; a container needs CAP_NET_ADMIN',
    );
  }
  return ok('nftables', `nft ${text}`);
};

const otherFirewalls: Check = (host, { role }) => {
  if (role !== 'edge') return null;
  const tables = (host.output('nft', 'list', 'tables') ?? '')
    .split('\n')
    .filter((line) => line !== '' && !/ portcullis/.test(line));
  const active = ['firewalld', 'ufw', 'nftables'].filter(
    (unit) => host.output('systemctl', 'is-active', unit) !== null,
  );
  if (active.length > 0) {
    return warning(
      'other firewalls',
      `${active.join(', ')} is active`,
      `it may flush what the edge enforces: systemctl disable --now ${active.join(' ')}`,
    );
  }
  return ok(
    'other firewalls',
    tables.length === 0 ? 'none' : `tables beside ours: ${tables.join(', ')}`,
  );
};

const earlyDrop: Check = (host, { role }) => {
  if (role !== 'edge') return null;
  const mounts = host.file('/proc/self/mounts') ?? '';
  if (!/ \/sys\/fs\/bpf bpf /.test(mounts)) {
    return warning(
      'early drop',
      '/sys/fs/bpf is not mounted',
      'mount -t bpf bpf /sys/fs/bpf: without it the early drop ends with the agent',
    );
  }
  if (host.file('/proc/sys/net/core/bpf_jit_enable') === '0') {
    return warning(
      'early drop',
      'BPF programs are interpreted',
      'sysctl net.core.bpf_jit_enable=1',
    );
  }
  return ok('early drop', 'BPF is compiled, and pinned programs stay');
};

/** Drivers with XDP of their own. Source: https://docs.ebpf.io/linux/program-type/BPF_PROG_TYPE_XDP/#driver-support */
const XDP_DRIVERS = new Set(
  'atlantic bnxt_en thunder_nicvf dpaa2-eth dpaa_eth ena enetc fec i40e ice igb igc ixgbe ixgbevf mlx4_core mlx5_core mana mtk_eth mvneta mvpp2 nfp octeontx2 qede sfc stmmac tsnep tun veth virtio_net hv_netvsc vmxnet3 xen-netfront'.split(
    ' ',
  ),
);

const devices: Check = (host, { role }) => {
  if (role !== 'edge') return null;
  const names = host.devices();
  if (names.length === 0)
    return fault('devices', 'none of the outside', 'connect one, and name it in the fleet file');
  const down = names.filter(
    (name) => !['up', 'unknown'].includes(host.file(`/sys/class/net/${name}/operstate`) ?? ''),
  );
  if (down.length > 0)
    return warning('devices', `${down.join(', ')} is down`, `ip link set ${down[0]} up`);
  const slow = names.filter((name) => {
    const driver = /^driver: (.*)$/m.exec(host.output('ethtool', '-i', name) ?? '')?.[1];
    return driver === undefined || !XDP_DRIVERS.has(driver);
  });
  if (slow.length > 0) {
    return warning(
      'devices',
      `${slow.join(', ')}: no XDP in its driver, or ethtool is missing`,
      'the early drop works there, at a lower rate; prefer devices whose driver has XDP',
    );
  }
  return ok('devices', names.join(', '));
};

const LEAST_CONNECTIONS = 262_144;

const conntrack: Check = (host, { role }) => {
  if (role !== 'edge') return null;
  const text = host.file('/proc/sys/net/netfilter/nf_conntrack_max');
  if (text === null)
    return warning(
      'connection tracking',
      'not loaded',
      'modprobe nf_conntrack; return traffic and filters need it',
    );
  const count = Number(host.file('/proc/sys/net/netfilter/nf_conntrack_count') ?? 0);
  const found = `${count} of ${text} connections`;
  if (count > Number(text) * 0.8)
    return fault(
      'connection tracking',
      found,
      `it is nearly full: sysctl net.netfilter.nf_conntrack_max=${Number(text) * 4}`,
    );
  return Number(text) < LEAST_CONNECTIONS
    ? warning(
        'connection tracking',
        found,
        `a flood fills it: sysctl net.netfilter.nf_conntrack_max=${LEAST_CONNECTIONS}`,
      )
    : ok('connection tracking', found);
};

const docker: Check = (host, { role }) => {
  if (role !== 'node') return null;
  const version = host.output('docker', 'version', '--format', '{{.Server.Version}}');
  return version === null
    ? fault(
        'Docker',
        'it does not answer',
        'install and start it: apt-get install docker.io; systemctl enable --now docker',
      )
    : ok('Docker', `Docker ${version}`);
};

const forwarding: Check = (host, { role }) => {
  // Docker turns it on when it starts.
  if (role !== 'node' || host.output('docker', 'version') === null) return null;
  return host.file('/proc/sys/net/ipv4/ip_forward') === '1'
    ? ok('forwarding', 'on')
    : fault(
        'forwarding',
        'off',
        'sysctl net.ipv4.ip_forward=1: players reach servers in Docker by it',
      );
};

const LEAST_RECEIVE_BYTES = 4 * 1024 * 1024;

const receiveBuffer: Check = (host, { role }) => {
  if (role !== 'collector') return null;
  const text = host.file('/proc/sys/net/core/rmem_max') ?? '0';
  return Number(text) < LEAST_RECEIVE_BYTES
    ? warning(
        'receive buffer',
        `at most ${text} bytes`,
        `bursts of exports are lost: sysctl net.core.rmem_max=${LEAST_RECEIVE_BYTES}`,
      )
    : ok('receive buffer', `at most ${text} bytes`);
};

const credential: Check = (_host, { role, credential: text }) => {
  if (role === 'control') return null;
  if (text === null)
    return fault(
      'credential',
      'there is none',
      `portcullis tokens create ${role} --name NAME, on the host of control, prints the command that joins this one`,
    );
  const parsed = parseCredential(text);
  return parsed.ok
    ? ok(
        'credential',
        parsed.value.remote === null
          ? 'for the socket of control on this host'
          : `of the ${parsed.value.remote.kind} ${parsed.value.remote.name}`,
      )
    : fault(
        'credential',
        parsed.reason,
        `portcullis ${role} join URL TOKEN --replace gets another`,
      );
};

function unreached(url: string, error: Error): Finding {
  const problem = certificateProblem(error);
  if (problem !== null) {
    const [found = '', ...repair] = problem.split('. ');
    return fault('control', `${url}: ${found}`, repair.join('. ') || 'is --url right?');
  }
  const { cause } = error;
  const why = cause instanceof Error && cause.message !== '' ? cause.message : error.message;
  return fault(
    'control',
    `${url} does not answer: ${why}`,
    'start control, or open its port between the hosts',
  );
}

const reachable: Check = async (host, { credential: text, url }) => {
  const remote = text === null ? null : parseCredential(text);
  for (const server of remote?.ok && remote.value.remote !== null
    ? remote.value.remote.nats.servers
    : []) {
    const { hostname, port } = new URL(server);
    if (!(await host.reaches(hostname.replaceAll(/[[\]]/g, ''), Number(port || 4222)))) {
      return fault(
        'control',
        `${server} does not answer`,
        'start the NATS server, or open its port between the hosts',
      );
    }
  }
  if (url !== null) {
    const status = await host.status(new URL('/healthz', url).href);
    if (status instanceof Error) return unreached(url, status);
    if (status !== 200)
      return fault('control', `${url} answers ${status}`, 'is it a Portcullis? Its log says more');
    return ok('control', `${url} answers`);
  }
  return remote?.ok && remote.value.remote !== null
    ? ok('control', 'its NATS servers answer')
    : null;
};

const postgres: Check = (host, { role }) => {
  if (role !== 'control' || process.env['DATABASE_URL'] !== undefined) return null;
  return host.output('flock', '--version') === null
    ? fault('database', 'flock is missing', 'install it: apt-get install util-linux')
    : ok('database', 'embedded');
};

/** Where control listens by default. */
const CONTROL_PORT = 8080;

const port: Check = async (host, { role }) => {
  if (role !== 'control' || !(await host.reaches('127.0.0.1', CONTROL_PORT))) return null;
  const status = await host.status(`http://127.0.0.1:${CONTROL_PORT}/healthz`);
  return status === 200
    ? ok('port', `a control plane listens on ${CONTROL_PORT} already`)
    : fault(
        'port',
        `another program listens on ${CONTROL_PORT}`,
        'stop it, or give --listen another port',
      );
};

/** Where control serves metrics and its whole readiness by default. */
const READINESS_URL = 'http://127.0.0.1:9464/readyz';

const proxy: Check = async (host, { role }) => {
  if (role !== 'control') return null;
  const { hint } = Object(await host.document(READINESS_URL)) as { readonly hint?: unknown };
  return typeof hint === 'string'
    ? warning('proxy', 'control is behind one that it does not trust', hint)
    : null;
};

const CHECKS: readonly Check[] = [
  rights,
  kernel,
  clock,
  disk,
  nftables,
  otherFirewalls,
  earlyDrop,
  devices,
  conntrack,
  docker,
  forwarding,
  receiveBuffer,
  postgres,
  port,
  proxy,
  credential,
  reachable,
];

/** Checks what works on a host for its role and what does not, in the order of repair. */
export async function examine(host: Host, asked: Asked): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const check of CHECKS) {
    const finding = await check(host, asked);
    if (finding !== null) found.push(finding);
  }
  return found;
}
