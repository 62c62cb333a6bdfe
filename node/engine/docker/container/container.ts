import type { ServerLimits, ServerMount } from '@portcullis/core/game-servers/power.ts';
import type { InstallSpec, InstanceSpec, PublishedPort } from '../../engine.ts';
import type { FolderOwner } from '../../folder-owner.ts';
import { type Names, type Role, ROLE_LABEL, SERVER_LABEL } from '../labels.ts';
import type { ReadOnlyFile } from './read-only-files.ts';

export const SERVER_FOLDER = '/home/container';
export const INSTALL_FOLDER = '/mnt/server';
/** The path of an install script in its container. */
export const INSTALL_SCRIPT = '/mnt/install/install.sh';
const INSTALL_PIDS = 512;
/** The terminal of a game. Some end at the first move of the cursor in one of 0 by 0, Docker's own size. */
export const TERMINAL = { rows: 50, columns: 200 };

/** Two files, so that the previous one can be read after a rotation. */
const LOGGING = {
  Type: 'local',
  Config: { 'max-size': '2500k', 'max-file': '2', compress: 'false' },
};
/**
 * An install is root in its container: it unpacks, installs packages and changes owners. It makes no devices (MKNOD), gives
 * no files capabilities (SETFCAP), opens no raw sockets and traces nothing; apt and dpkg need none of that.
 */
const INSTALL_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];

export interface ContainerStart {
  /** Null: the image's own. */
  readonly command: readonly string[] | null;
  /** Whether that is an init already. */
  readonly hasInit: boolean;
  readonly owner: FolderOwner;
  /** Whether Docker maps accounts of containers to others of the host. */
  readonly isMapped: boolean;
  readonly files: readonly ReadOnlyFile[];
}

/** The body of `POST /containers/create` for a game, with everything that isolates it. */
export function renderContainer(
  names: Names,
  spec: InstanceSpec,
  { command, hasInit, owner, isMapped, files }: ContainerStart,
): object {
  return {
    ...renderCommon(names, spec, 'game'),
    ...(command === null ? {} : { Entrypoint: command, Cmd: [] }),
    User: `${owner.uid}:${owner.gid}`,
    WorkingDir: SERVER_FOLDER,
    // Without a terminal, games buffer their output in blocks.
    Tty: true,
    OpenStdin: true,
    StdinOnce: false,
    ExposedPorts: Object.fromEntries(spec.ports.map((port) => [portKey(port), {}])),
    HostConfig: {
      ...renderHost(names, spec),
      ...renderLimits(spec.limits, spec.pidsLimit),
      // A game that is process 1 and handles no signal would ignore INT and TERM.
      Init: !hasInit,
      ConsoleSize: [TERMINAL.rows, TERMINAL.columns],
      Mounts: [
        mount(spec.folder, SERVER_FOLDER),
        ...files.map(mountReadOnly),
        ...spec.mounts.map(mountOffered),
      ],
      // It is an account of its own already, which owns its folder; a namespace would map it to another.
      ...(isMapped ? { UsernsMode: 'host' } : {}),
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,size=100m,mode=1777' },
      CapAdd: [...spec.capabilities],
      PortBindings: renderPorts(spec.ports),
    },
  };
}

/** The same for an install, which is root in its container and may write to its image. */
export function renderInstall(
  names: Names,
  spec: InstallSpec,
  files: readonly ReadOnlyFile[],
): object {
  return {
    ...renderCommon(names, spec, 'install'),
    Entrypoint: [...spec.entrypoint.split(/\s+/).filter(Boolean), INSTALL_SCRIPT],
    Cmd: [],
    User: '0:0',
    WorkingDir: INSTALL_FOLDER,
    Tty: false,
    HostConfig: {
      ...renderHost(names, spec),
      ...renderLimits(installLimits(spec.limits), INSTALL_PIDS),
      Init: true,
      Mounts: [mount(spec.folder, INSTALL_FOLDER), ...files.map(mountReadOnly)],
      CapAdd: INSTALL_CAPABILITIES,
    },
  };
}

function renderCommon(names: Names, spec: InstanceSpec | InstallSpec, role: Role): object {
  return {
    Image: spec.image.reference,
    Labels: {
      ...names.labels(spec.organisation),
      [SERVER_LABEL]: spec.uuid,
      [ROLE_LABEL]: role,
    },
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    // A health check of the image would run programs of its own.
    Healthcheck: { Test: ['NONE'] },
  };
}

function renderHost(names: Names, spec: InstanceSpec | InstallSpec): object {
  return {
    NetworkMode: names.network(spec.organisation),
    // The power machine decides about restarts.
    RestartPolicy: { Name: 'no' },
    LogConfig: LOGGING,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    IpcMode: 'private',
  };
}

function mount(source: string, target: string): object {
  // Unlike `Binds`, this allows a colon in the path and never creates the folder.
  return { Type: 'bind', Source: source, Target: target, BindOptions: { Propagation: 'rprivate' } };
}

/** A folder that the node offers, without what is mounted in it: that was not offered. */
function mountOffered({ source, target, readOnly }: ServerMount): object {
  const options = { Propagation: 'rprivate', NonRecursive: true };
  return { Type: 'bind', Source: source, Target: target, ReadOnly: readOnly, BindOptions: options };
}

function mountReadOnly({ source, target }: ReadOnlyFile): object {
  return { ...mount(source, target), ReadOnly: true };
}

function renderPorts(ports: readonly PublishedPort[]): Record<string, object[]> {
  const bindings: Record<string, object[]> = {};
  for (const port of ports)
    (bindings[portKey(port)] ??= []).push({ HostIp: port.ip, HostPort: String(port.port) });
  return bindings;
}

function portKey({ port, protocol }: PublishedPort): string {
  return `${port}/${protocol}`;
}

const MIB = 1024 * 1024;
const CPU_PERIOD_US = 100_000;

/**
 * Extra memory for a container: startups give the whole limit of a server to the Java heap, and the Java machine needs
 * memory beyond its heap. The factors are those of Wings, so that community images behave as they do there.
 */
const OVERHEAD: readonly (readonly [upToMib: number, factor: number])[] = [
  [2048, 1.15],
  [4096, 1.1],
  [Number.POSITIVE_INFINITY, 1.05],
];

/** Limits for Docker's `HostConfig`, enforced by the kernel; 0 is no limit. */
function renderLimits(limits: ServerLimits, pidsLimit: number): Record<string, unknown> {
  return {
    ...(limits.memory > 0 ? memoryOf(limits) : {}),
    ...(limits.cpu > 0
      ? { CpuPeriod: CPU_PERIOD_US, CpuQuota: (limits.cpu * CPU_PERIOD_US) / 100 }
      : {}),
    PidsLimit: pidsLimit,
    BlkioWeight: limits.io,
    CpusetCpus: limits.cores ?? '',
    OomKillDisable: !limits.oom,
    // Open files stay unlimited: an engine with a lower limit of its own could start no container.
    Ulimits: [
      { Name: 'core', Soft: 0, Hard: 0 },
      // No single file grows past the disk limit; the disk guard watches the sum.
      ...(limits.disk > 0
        ? [{ Name: 'fsize', Soft: limits.disk * MIB, Hard: limits.disk * MIB }]
        : []),
    ],
  };
}

/** The least that an install gets, so that a small server can unpack or compile; the same as Wings. */
const INSTALL_MEMORY_MIB = 1024;
const INSTALL_CPU_PERCENT = 100;

/** Limits of a server's install. */
function installLimits({ memory, cpu, ...others }: ServerLimits): ServerLimits {
  return {
    ...others,
    memory: memory === 0 ? 0 : Math.max(memory, INSTALL_MEMORY_MIB),
    cpu: cpu === 0 ? 0 : Math.max(cpu, INSTALL_CPU_PERCENT),
  };
}

function memoryOf({ memory, swap }: ServerLimits): Record<string, number> {
  const factor = OVERHEAD.find(([upToMib]) => memory <= upToMib)?.[1] ?? 1;
  const bytes = Math.ceil(memory * factor) * MIB;
  return {
    Memory: bytes,
    // MemorySwap includes Memory, so equal values allow no swap; 0 would mean as much swap as memory.
    MemorySwap: swap < 0 ? -1 : bytes + swap * MIB,
    MemoryReservation: memory * MIB,
  };
}
