import type { InstallSpec, InstanceSpec, PublishedPort } from '../../engine.ts';
import type { FolderOwner } from '../../folder-owner.ts';
import { type Names, type Role, ROLE_LABEL, SERVER_LABEL } from '../labels.ts';
import { installLimits, renderLimits } from './limits.ts';

export const SERVER_FOLDER = '/home/container';
export const INSTALL_FOLDER = '/mnt/server';
/** Where the script of an install lies inside. */
export const INSTALL_SCRIPT = '/mnt/install/install.sh';
const INSTALL_PIDS = 512;

/** Two files, so that there is always something to read of the one before. */
const LOGGING = {
  Type: 'local',
  Config: { 'max-size': '2500k', 'max-file': '2', compress: 'false' },
};
/** What an install needs as root of its container: unpacking, packages, giving files away. */
const INSTALL_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];

/** The body of `POST /containers/create` for a game: everything that holds it in its place is here. */
export function renderContainer(
  names: Names,
  spec: InstanceSpec,
  command: readonly string[] | null,
  owner: FolderOwner,
): object {
  return {
    ...renderCommon(names, spec, 'game'),
    ...(command === null ? {} : { Entrypoint: command, Cmd: [] }),
    User: `${owner.uid}:${owner.gid}`,
    WorkingDir: SERVER_FOLDER,
    // A terminal, or games hold back their lines to print them by the block.
    Tty: true,
    OpenStdin: true,
    StdinOnce: false,
    ExposedPorts: Object.fromEntries(spec.ports.map((port) => [portKey(port), {}])),
    HostConfig: {
      ...renderHost(names, spec),
      ...renderLimits(spec.limits, spec.pidsLimit),
      Mounts: [mount(spec.folder, SERVER_FOLDER)],
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,size=100m,mode=1777' },
      CapAdd: [...spec.capabilities],
      PortBindings: renderPorts(spec.ports),
    },
  };
}

/** The same for an install, which is root in its container: its image is a system to install into, and to leave. */
export function renderInstall(names: Names, spec: InstallSpec): object {
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
      Mounts: [mount(spec.folder, INSTALL_FOLDER)],
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
    // A health check of the image would run programs in it that nobody asked for.
    Healthcheck: { Test: ['NONE'] },
  };
}

function renderHost(names: Names, spec: InstanceSpec | InstallSpec): object {
  return {
    NetworkMode: names.network(spec.organisation),
    // Starting again is the machine's to decide.
    RestartPolicy: { Name: 'no' },
    LogConfig: LOGGING,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    // A game that is process 1 and handles no signal would ignore INT and TERM.
    Init: true,
    IpcMode: 'private',
  };
}

function mount(source: string, target: string): object {
  // Not a `Binds` text, which a colon in the path would cut. The folder must be there: Docker makes none.
  return { Type: 'bind', Source: source, Target: target, BindOptions: { Propagation: 'rprivate' } };
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
