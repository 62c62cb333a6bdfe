import type { ServerLimits } from '@portcullis/core/game-servers/power.ts';

/**
 * What runs game servers: Docker, plain processes, or the fake of tests. `suite.ts` holds all three to this.
 *
 * - An instance is known by its server's uuid alone, and recognised as ours after a restart with no memory (a label).
 * - Truth is `onEvent` plus `inspect`; the end of a console stream says nothing.
 * - Every call is bounded in time and rejects with `EngineError`, whose message is for people.
 */
export interface Engine {
  readonly kind: 'docker' | 'process' | 'fake';
  /** Resolves when the engine answers, which costs it nothing. */
  ping(): Promise<void>;
  /** Rejects with `unreachable` while the engine does not answer. */
  describe(): Promise<EngineFacts>;
  /** No-op for what is there and for local images (which are `missing_image` when absent). Aborts with the signal. */
  pull(image: ImageRef, onProgress: (line: string) => void, signal: AbortSignal): Promise<void>;
  /** Makes the instance, not started; what is there of this uuid and not running is replaced. */
  create(spec: InstanceSpec): Promise<void>;
  /** No-op when it runs. */
  start(uuid: string): Promise<void>;
  /** No-op when it does not run. */
  signal(uuid: string, signal: string): Promise<void>;
  /** SIGKILL; no-op when it does not run or is gone. */
  kill(uuid: string): Promise<void>;
  /** Also running; no-op when it is gone. */
  remove(uuid: string): Promise<void>;
  /** null: there is none. */
  inspect(uuid: string): Promise<Instance | null>;
  /** All that are ours. */
  list(): Promise<readonly Instance[]>;
  /**
   * `gap` comes first, and again whenever events may have been missed (the engine restarted): inspect then.
   * Reconnects by itself until the returned function is called.
   */
  onEvent(listener: (event: EngineEvent) => void): () => void;
  /**
   * To be called before `start`, so that no line is lost. Ends by itself when the instance does, and when the engine
   * restarts (`gap`): then attach again.
   */
  attach(uuid: string, onOutput: (chunk: Buffer) => void): Promise<Console>;
  /** What it wrote last, oldest first, at most `maxBytes`. For a console that begins after a restart of the agent. */
  recentOutput(uuid: string, maxBytes: number): Promise<Buffer>;
  /** About one a second while it runs, until the returned function is called or it ends. */
  watchUsage(uuid: string, listener: (usage: Usage) => void): () => void;
  /** Runs an install container to its end; what is left of an earlier one of this uuid is removed first. */
  runInstall(
    spec: InstallSpec,
    onOutput: (chunk: Buffer) => void,
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number }>;
  close(): Promise<void>;
}

export interface EngineFacts {
  readonly version: string;
  readonly apiVersion: string;
  /** What people should know, such as that processes are not isolated. */
  readonly warnings: readonly string[];
}

export interface ImageRef {
  readonly reference: string;
  readonly local: boolean;
}

export interface InstanceSpec {
  readonly uuid: string;
  readonly organisation: string;
  readonly image: ImageRef;
  /** In place of the image's entrypoint and command; null: those. */
  readonly command: readonly string[] | null;
  /** What runs where `command` is null and the image has neither; null: such an image is `refused`. */
  readonly fallbackCommand: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  /**
   * Absolute path on this host, mounted at /home/container. The instance runs as the owner of this folder, who must
   * not be root: `refused`.
   */
  readonly folder: string;
  readonly limits: ServerLimits;
  readonly pidsLimit: number;
  readonly capabilities: readonly string[];
  readonly ports: readonly PublishedPort[];
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
  /** Mounted at /mnt/server. All that is in it belongs to the owner of the folder at the end, also of a failed one. */
  readonly folder: string;
  readonly limits: ServerLimits;
}

export interface Instance {
  readonly uuid: string;
  readonly status: 'created' | 'running' | 'paused' | 'exited';
  /** null while it runs or before it did. */
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  readonly startedAtMs: number | null;
}

export type EngineEvent =
  | { readonly kind: 'gap' }
  /** The engine does not answer; `gap` follows when it does again. */
  | { readonly kind: 'lost'; readonly reason: string }
  | { readonly kind: 'started' | 'paused' | 'unpaused' | 'removed'; readonly uuid: string }
  | {
      readonly kind: 'exited';
      readonly uuid: string;
      readonly exitCode: number;
      readonly oomKilled: boolean;
    };

export interface Console {
  /** Resolves when the engine took the bytes; rejects when the instance does not take any. */
  write(bytes: Buffer): Promise<void>;
  /** Resolves when nothing comes of it any more: the instance ended, or only the connection. Says not which: look. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface Usage {
  /** Without the page cache (usage less inactive_file). */
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

/**
 * Fails with `timeout` after so long, whatever the engine promises: nothing here may wait for ever. What was asked
 * goes on behind our back, so it must be harmless when it ends late.
 */
export async function bounded<T>(what: string, ms: number, work: Promise<T>): Promise<T> {
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

/** What people are told: an engine's words are for them, of anything else they learn that it is our fault. */
export function sentenceOf(error: unknown): string {
  if (error instanceof EngineError) return error.message;
  return error instanceof Error ? `The node failed: ${error.message}` : 'The node failed.';
}
