import { join } from 'node:path';
import { quoteUnitWord } from '@portcullis/edge/boot/unit.ts';
import { usageError } from '@portcullis/caller/exit.ts';

/** The dependencies and the description of each role. */
export const ROLES = {
  up: { description: 'the whole platform on this machine', after: 'network-online.target' },
  control: { description: 'the control plane', after: 'network-online.target postgresql.service' },
  edge: {
    description: 'the edge of this host',
    after: 'network.target portcullis-control.service',
  },
  node: {
    description: 'the node of this host',
    after: 'network-online.target docker.service portcullis-control.service',
  },
  collector: {
    description: 'a collector of flow exports',
    after: 'network-online.target portcullis-control.service',
  },
} as const;
export type Role = keyof typeof ROLES;

const LAUNCHER = join(import.meta.dirname, '..', '..', 'portcullis');
const CONTROL_CHARACTER = /\p{Cc}/u;

/** Where the package installs; a checkout may lie where no other account can read it. */
const INSTALLED = '/usr/lib/portcullis/';

/** Settings of every role. */
const SHARED = `NoNewPrivileges=yes
PrivateTmp=yes
ProtectHome=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
`;

/**
 * The confinement of an installed role. Control is an account without capabilities but that for ports below 1024; its
 * ExecStartPre makes the folder of the socket for edges of this host, which root's group can enter. Edge and node drop
 * capabilities by setpriv, so their units keep setpcap for that; net_admin and net_raw for nftables, XDP, conntrack and
 * raw sockets; bpf and perfmon for the early drop; sys_admin to mount its file system; and the node chown, dac_override,
 * fowner, setuid, setgid and kill, for the folders and processes of games; what it may not, mount them nosuid, is
 * done for it before, in the host's own view of mounts (`+`). `up` is all of them.
 */
const CONFINED: Readonly<Record<Role, string>> = {
  control: `User=portcullis
StateDirectory=portcullis
Environment=PORTCULLIS_DATA=/var/lib/portcullis
ExecStartPre=+/usr/bin/install -d -o portcullis -g root -m 2770 /var/lib/portcullis/link
UMask=0027
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
PrivateDevices=yes
PrivateMounts=yes
ProtectSystem=strict
ProtectProc=invisible
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
RemoveIPC=yes
${SHARED}`,
  edge: `CapabilityBoundingSet=CAP_SETPCAP CAP_NET_ADMIN CAP_NET_RAW CAP_BPF CAP_PERFMON CAP_SYS_ADMIN
PrivateDevices=yes
${SHARED}`,
  node: `CapabilityBoundingSet=CAP_SETPCAP CAP_NET_ADMIN CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_SETUID CAP_SETGID CAP_KILL
${SHARED}`,
  collector: `CapabilityBoundingSet=CAP_SETPCAP CAP_SETUID CAP_SETGID CAP_NET_BIND_SERVICE
PrivateDevices=yes
ProtectSystem=full
ProtectKernelModules=yes
ProtectKernelTunables=yes
${SHARED}`,
  up: '',
};

/**
 * The unit of a role. Anything that it stops ends in order: so systemd signals only the main process. From a checkout
 * it restricts little, as the role gives up the rights that it does not need by itself.
 */
export function renderService(
  role: Role,
  args: readonly string[],
  launcher: string = LAUNCHER,
): string {
  // A line break would end the line of the unit and start another setting.
  if (args.some((word) => CONTROL_CHARACTER.test(word)))
    throw usageError('an option has a control character in it');
  const { description, after } = ROLES[role];
  const quote = (words: readonly string[]): string =>
    words.map(quoteUnitWord).join(' ').replaceAll('$', '$$$$');
  const command = quote([launcher, role, ...args]);
  const isConfined = launcher.startsWith(INSTALLED);
  const mount = isConfined && role === 'node' ? quote([launcher, role, ...args, 'mount']) : null;
  return `[Unit]
Description=Portcullis: ${description}
Wants=network-online.target
After=${after}

[Service]
Type=exec
EnvironmentFile=-/etc/portcullis/${role}.env
${mount === null ? '' : `ExecStartPre=-+${mount}\n`}ExecStart=${command}
KillMode=mixed
TimeoutStopSec=60
Restart=on-failure
RestartSec=2
LimitNOFILE=65536
ProtectClock=yes
ProtectHostname=yes
RestrictRealtime=yes
LockPersonality=yes
${isConfined ? CONFINED[role] : ''}
[Install]
WantedBy=multi-user.target
`;
}
