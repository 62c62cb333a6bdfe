/** The states and signals of the public interface; see `power-table.ts`. */
export type ServerState = PowerState | 'paused';
/** The state that decides about signals: another program may pause an instance in any of them. */
export type PowerState = 'offline' | 'starting' | 'running' | 'stopping';
export type PowerSignal = 'start' | 'stop' | 'restart' | 'kill';

/** The signals that make a server run; one that must not run refuses them. */
export function begins(signal: PowerSignal): boolean {
  return signal === 'start' || signal === 'restart';
}

/** The answer to who would use a server that its operator suspended: of its node, and of control before the node knows. */
export const SUSPENDED = 'The server is suspended.';

/** One game server as its node must run it. */
export interface ServerAssignment {
  readonly uuid: string;
  /** The organisation's slug: servers of two organisations never share a network. */
  readonly organisation: string;
  readonly name: string;
  /** The digest of its egg, which is its key in the sync. */
  readonly egg: string;
  /** The label of an image of the egg. Null: the first. */
  readonly image: string | null;
  /** Variables by environment name; missing ones have the default of the egg. */
  readonly variables: Readonly<Record<string, string>>;
  readonly limits: ServerLimits;
  /** A reference in place of the egg's images, with `~` in front of a local one. */
  readonly dockerImage: string | null;
  /** A startup line in place of the egg's. */
  readonly startup: string | null;
  /** Folders of the host, each of which its node has to offer. */
  readonly mounts: readonly ServerMount[];
  /** The first port, at which players reach it. */
  readonly allocation: { readonly ip: string; readonly port: number };
  /** All ports, the first one too; empty: `allocation` with the protocols of the egg. */
  readonly ports: readonly ServerPort[];
  readonly suspended: boolean;
  readonly crashes: CrashPolicy;
  readonly startWithHost: StartWithHost;
  /** From the stop instruction to SIGTERM; null: the time of the egg. */
  readonly stopAfterMs: number | null;
  /** Increases to request a new installation. */
  readonly buildEpoch: number;
  /** It was deleted and restored: its files are kept, and are not installed again. */
  readonly isRestored: boolean;
  /** The end of the files that are there before the build of this epoch; null: they stay. */
  readonly emptyFiles: EmptyFiles | null;
}
/** A folder of the host that a server sees. */
export interface ServerMount {
  /** Absolute path on the host. */
  readonly source: string;
  /** Absolute path in the container. */
  readonly target: string;
  readonly readOnly: boolean;
}
/** Whether a server is started when its host was: as it was before, whatever it was, or not. */
export const STARTS_WITH_HOST = ['as_before', 'always', 'never'] as const;
export type StartWithHost = (typeof STARTS_WITH_HOST)[number];
/** `bin`: they can be restored for some days. `delete`: they are gone, and so is the bin. */
export type EmptyFiles = 'bin' | 'delete';
export interface ServerPort {
  readonly ip: string;
  readonly port: number;
  readonly protocols: readonly ('tcp' | 'udp')[];
  /** The environment variable that is set to the port. */
  readonly variable: string | null;
  /** For people and for rules: `query`. Unique on its server. */
  readonly name: string | null;
}
/** MiB, percent of one core, MiB; 0 is no limit. */
export interface ServerLimits {
  readonly memory: number;
  readonly cpu: number;
  readonly disk: number;
  /** MiB beyond `memory`; -1 for all that the host has. */
  readonly swap: number;
  /** The weight of its reads and writes of disks, 10 to 1000. */
  readonly io: number;
  /** Cores of the host as Linux lists them, such as `0-3,6`; null: all. */
  readonly cores: string | null;
  /** Whether the kernel ends its processes when its memory is full. Without, they wait for memory. */
  readonly oom: boolean;
  /** Files, folders and links; 0: as many as `disk` allows. */
  readonly entries: number;
}

/** The limits of a server that has none. */
export const UNLIMITED: ServerLimits = {
  memory: 0,
  cpu: 0,
  disk: 0,
  swap: 0,
  io: 500,
  cores: null,
  oom: true,
  entries: 0,
};
export interface CrashPolicy {
  /** Whether a crashed server is restarted. */
  readonly restart: boolean;
  /** Crashes that follow each other within this time are counted together. */
  readonly withinMs: number;
  /** The restarts after such crashes; the next one leaves the server offline. */
  readonly tries: number;
}

/** The resource use of a running server: bytes, percent of one core, milliseconds. */
export interface ServerResources {
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  readonly cpuAbsolute: number;
  readonly diskBytes: number;
  readonly networkRxBytes: number;
  readonly networkTxBytes: number;
  readonly uptimeMs: number;
}
