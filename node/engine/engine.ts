import type { DockerStatus } from '@portcullis/core/game-servers/host-engines.ts';
import type { ServerLimits, ServerMount } from '@portcullis/core/game-servers/power.ts';

/**
 * Everything that runs game servers: Docker, plain processes, both of them (`host`), or the fake of tests. `suite.ts`
 * tests them all.
 *
 * - An instance is identified by its server's uuid, and is recognised as ours after a restart without memory (a label).
 * - `inspect` is authoritative; the end of a console stream says nothing about the instance.
 * - Every call is bounded in time and rejects with `EngineError`, whose message is for operators.
 */
export interface Engine {
  readonly kind: 'docker' | 'process' | 'host' | 'fake';
  /** Resolves when the engine answers; costs the engine nothing. */
  ping(): Promise<void>;
  /** Rejects with `unreachable` while the engine does not answer. */
  describe(): Promise<EngineFacts>;
  /**
   * Brings an image, or a newer one of the same tag. A local image is never pulled: `missing_image` if it is absent. One
   * that is present and cannot be refreshed stays. Returns a sentence for the console, or null if there is nothing new.
   */
  pull(
    image: ImageRef,
    onProgress: (line: string) => void,
    signal: AbortSignal,
  ): Promise<string | null>;
  /** Creates the instance without starting it; replaces one of this uuid that does not run. */
  create(spec: InstanceSpec): Promise<void>;
  /** No-op when it runs. */
  start(uuid: string): Promise<void>;
  /** No-op when it does not run. */
  signal(uuid: string, signal: string): Promise<void>;
  /** SIGKILL; no-op when it does not run or is gone. */
  kill(uuid: string): Promise<void>;
  /** Also removes a running instance; no-op when it is gone. */
  remove(uuid: string): Promise<void>;
  /** Returns null if there is no instance. */
  inspect(uuid: string): Promise<Instance | null>;
  /** Lists all instances of this node. */
  list(): Promise<readonly ListedInstance[]>;
  /**
   * Sends `gap` first, and again whenever events may have been missed (the engine restarted): inspect then.
   * Reconnects by itself until the returned function is called. An event is a reason to inspect, never the truth.
   */
  onEvent(listener: (event: EngineEvent) => void): () => void;
  /**
   * Call it before `start`, so that no line is lost. The console ends when the instance ends, and when the engine
   * restarts (`gap`): then attach again.
   */
  attach(uuid: string, onOutput: (chunk: Buffer) => void): Promise<Console>;
  /** The last output, oldest first, at most `maxBytes`: what an agent shows after its restart. */
  recentOutput(uuid: string, maxBytes: number): Promise<Buffer>;
  /** Reports about once a second while the instance runs, until the returned function is called. */
  watchUsage(uuid: string, listener: (usage: Usage) => void): () => void;
  /**
   * Runs an install container to its end; removes an earlier one of this uuid first. Rejects with `NotGiven` if what
   * it left cannot be given to the owner of the folder.
   */
  runInstall(
    spec: InstallSpec,
    onOutput: (chunk: Buffer) => void,
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number }>;
  close(): Promise<void>;
  /** The engine of an engine that consists of several: the one that has this server, or will have it. */
  of?(uuid: string): Engine;
  /** Says which image a server will be launched with, before anything else is asked about the server. */
  expect?(uuid: string, reference: string): void;
}

export interface EngineFacts {
  readonly kind: 'docker' | 'process' | 'fake';
  readonly version: string;
  readonly apiVersion: string;
  /** Facts that the operator should know, such as that processes are not isolated. */
  readonly warnings: readonly string[];
  /** Null: the host is configured without Docker. */
  readonly docker: DockerStatus | null;
  /** References of images that are run as plain processes. */
  readonly programs: readonly string[];
}

export interface ImageRef {
  readonly reference: string;
  readonly local: boolean;
}

export interface InstanceSpec {
  readonly uuid: string;
  readonly organisation: string;
  readonly image: ImageRef;
  /** Replaces the image's entrypoint and command; null: the image's own. */
  readonly command: readonly string[] | null;
  /** Runs if `command` is null and the image has neither; null: such an image is `refused`. */
  readonly fallbackCommand: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  /**
   * Absolute path on this host, mounted at /home/container. The instance runs as the owner of this folder; a
   * folder of root is `refused`.
   */
  readonly folder: string;
  readonly limits: ServerLimits;
  readonly pidsLimit: number;
  readonly capabilities: readonly string[];
  readonly ports: readonly PublishedPort[];
  /** Folders of the host that the node offers. An engine without containers refuses them. */
  readonly mounts: readonly ServerMount[];
}
export interface PublishedPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}
export interface InstallSpec {
  readonly uuid: string;
  readonly organisation: string;
  readonly image: ImageRef;
  readonly entrypoint: string;
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  /** Mounted at /mnt/server. In the end its files belong to the owner of the folder, also after a failed install. */
  readonly folder: string;
  readonly limits: ServerLimits;
  /**
   * The bytes that the folder was last measured to hold, which counts with what the install writes elsewhere. Absent:
   * nothing.
   */
  readonly folderBytes?: () => number;
}

export interface Instance {
  readonly uuid: string;
  readonly status: 'created' | 'running' | 'paused' | 'exited';
  /** Null before its first start and while it runs. */
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  readonly startedAtMs: number | null;
}

export type ListedInstance = Pick<Instance, 'uuid' | 'status'>;

/** `from`: the one of several engines that the event is about; missing: the only one. */
export type EngineEvent =
  | { readonly kind: 'gap'; readonly from?: Engine }
  /** The engine does not answer; `gap` follows when it does again. */
  | { readonly kind: 'lost'; readonly reason: string; readonly from?: Engine }
  /** The instance was started, paused or removed, or it ended. */
  | { readonly kind: 'changed'; readonly uuid: string };

export interface Console {
  /** Resolves when the engine has taken the bytes; rejects when the instance takes none. */
  write(bytes: Buffer): Promise<void>;
  /** Resolves at the end of the output. Either the instance or only the connection ended: inspect to know. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface Usage {
  /** Memory without the page cache (usage minus inactive_file). */
  readonly memoryBytes: number;
  /** Percent of one core, three decimals. */
  readonly cpuPercent: number;
  readonly networkRxBytes: number;
  readonly networkTxBytes: number;
}

export type EngineErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'missing_image'
  | 'port_taken'
  | 'address_missing'
  | 'not_found'
  | 'refused'
  | 'aborted';

export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly code: EngineErrorCode;
  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A paused instance is alive too. */
export function isAlive(instance: Pick<Instance, 'status'> | null): boolean {
  return instance?.status === 'running' || instance?.status === 'paused';
}

/**
 * Rejects with `timeout` after this time, so that an engine that hangs blocks nothing. The work continues, so it must be
 * harmless when it ends late.
 */
export async function withTimeout<T>(what: string, ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new EngineError('timeout', `The engine did not ${what} within ${ms / 1_000} s.`)),
    ms,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The text that callers see: the message of an engine error; any other error is the node's own fault. */
export function describeFailure(error: unknown): string {
  if (error instanceof EngineError) return error.message;
  return error instanceof Error ? `The node failed: ${error.message}` : 'The node failed.';
}
