/** What the public interface shows and takes; see the transition table of `machine.ts`. */
export type ServerState = 'offline' | 'starting' | 'running' | 'stopping';
export type PowerSignal = 'start' | 'stop' | 'restart' | 'kill';

/** One game server as its node must run it. */
export interface ServerAssignment {
  readonly uuid: string;
  /** The organisation's slug: servers of two organisations never share a network. */
  readonly organisation: string;
  readonly name: string;
  /** Digest of its egg, under which the sync carries it. */
  readonly egg: string;
  /** Label of one of the egg's images; null: the first. */
  readonly image: string | null;
  /** By environment name; what is missing has the egg's default. */
  readonly variables: Readonly<Record<string, string>>;
  readonly limits: ServerLimits;
  readonly allocation: { readonly ip: string; readonly port: number };
  readonly suspended: boolean;
  readonly crashes: CrashPolicy;
  /** Increases to request a new installation. */
  readonly buildEpoch: number;
}
/** MiB, percent of one core, MiB. */
export interface ServerLimits {
  readonly memory: number;
  readonly cpu: number;
  readonly disk: number;
}
export interface CrashPolicy {
  /** Restart after a crash at all. */
  readonly restart: boolean;
  /** A crash this soon after the one before it leaves the server offline. */
  readonly withinMs: number;
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
