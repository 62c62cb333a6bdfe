import { engineOf } from '@portcullis/core/game-servers/host-engines.ts';
import { lackOf } from './docker/lack.ts';
import {
  type Console,
  type Engine,
  EngineError,
  type EngineEvent,
  type EngineFacts,
  type ImageRef,
  type InstallSpec,
  type Instance,
  type InstanceSpec,
  type ListedInstance,
  type Usage,
  withTimeout,
} from './engine.ts';

/** Less than the agent waits: what runs as a process is described also while Docker hangs. */
const DESCRIBE_MS = 3_000;

/** An engine that knows without asking whether it has an instance. */
export interface LocalEngine extends Engine {
  has(uuid: string): boolean;
}

/**
 * Docker and plain processes on one host: each server on the engine that runs its image (`engineOf`). While Docker does not
 * answer, what runs as a process goes on; Docker is found when it comes.
 */
export class HostEngine implements Engine {
  readonly kind = 'host';
  readonly #docker: Engine;
  readonly #process: LocalEngine;
  readonly #programs: readonly string[];
  /** Servers that have a container, as far as is known. */
  readonly #contained = new Set<string>();
  readonly #expected = new Map<string, string>();

  constructor(docker: Engine, process: LocalEngine, programs: readonly string[]) {
    this.#docker = docker;
    this.#process = process;
    this.#programs = programs;
  }

  of(uuid: string): Engine {
    // An instance stays where it is until another is created, also when the server has another image by now.
    if (this.#process.has(uuid)) return this.#process;
    if (this.#contained.has(uuid)) return this.#docker;
    const reference = this.#expected.get(uuid);
    return reference === undefined ? this.#docker : this.#ofImage(reference);
  }

  expect(uuid: string, reference: string): void {
    this.#expected.set(uuid, reference);
  }

  async ping(): Promise<void> {
    // Asked of the engine of a server.
  }

  async describe(): Promise<EngineFacts> {
    const processes = await this.#process.describe();
    const { programs } = processes;
    try {
      const docker = withTimeout('describe itself', DESCRIBE_MS, this.#docker.describe());
      return { ...(await docker), programs };
    } catch (error) {
      const docker = { version: null, lack: lackOf(error) };
      const why = error instanceof EngineError ? error.message : String(error);
      const warnings = [`${why.replace(/\.$/, '')}: only what comes with Portcullis runs here.`];
      return { ...processes, warnings, docker };
    }
  }

  pull(
    image: ImageRef,
    onProgress: (line: string) => void,
    signal: AbortSignal,
  ): Promise<string | null> {
    return this.#ofImage(image.reference).pull(image, onProgress, signal);
  }

  async create(spec: InstanceSpec): Promise<void> {
    const { uuid } = spec;
    const engine = this.#ofImage(spec.image.reference);
    const before = this.of(uuid);
    if (before !== engine) {
      await before.remove(uuid);
      this.#contained.delete(uuid);
    }
    await engine.create(spec);
    if (engine === this.#docker) this.#contained.add(uuid);
  }

  start(uuid: string): Promise<void> {
    return this.of(uuid).start(uuid);
  }

  signal(uuid: string, signal: string): Promise<void> {
    return this.of(uuid).signal(uuid, signal);
  }

  kill(uuid: string): Promise<void> {
    return this.of(uuid).kill(uuid);
  }

  async remove(uuid: string): Promise<void> {
    await this.of(uuid).remove(uuid);
    this.#contained.delete(uuid);
  }

  inspect(uuid: string): Promise<Instance | null> {
    return this.of(uuid).inspect(uuid);
  }

  async list(): Promise<readonly ListedInstance[]> {
    const processes = await this.#process.list();
    // While Docker is away, what it has is reported neither as there nor as gone.
    const containers = await this.#listContainers().catch(() => []);
    return [...processes, ...containers];
  }

  onEvent(listener: (event: EngineEvent) => void): () => void {
    const stops = [this.#process, this.#docker].map((engine) =>
      engine.onEvent((event) => {
        if ('uuid' in event) listener(event);
        else void this.#forward(engine, event, listener);
      }),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  attach(uuid: string, onOutput: (chunk: Buffer) => void): Promise<Console> {
    return this.of(uuid).attach(uuid, onOutput);
  }

  recentOutput(uuid: string, maxBytes: number): Promise<Buffer> {
    return this.of(uuid).recentOutput(uuid, maxBytes);
  }

  watchUsage(uuid: string, listener: (usage: Usage) => void): () => void {
    return this.of(uuid).watchUsage(uuid, listener);
  }

  runInstall(
    spec: InstallSpec,
    onOutput: (chunk: Buffer) => void,
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number }> {
    return this.#ofImage(spec.image.reference).runInstall(spec, onOutput, signal);
  }

  async close(): Promise<void> {
    await Promise.all([this.#process.close(), this.#docker.close()]);
  }

  #ofImage(reference: string): Engine {
    return engineOf(reference, this.#programs) === 'process' ? this.#process : this.#docker;
  }

  async #listContainers(): Promise<readonly ListedInstance[]> {
    const listed = await this.#docker.list();
    this.#contained.clear();
    for (const { uuid } of listed) this.#contained.add(uuid);
    return listed;
  }

  /** Learns before a gap is reported which servers have a container: the agent then inspects each. */
  async #forward(
    engine: Engine,
    event: EngineEvent & { readonly kind: 'gap' | 'lost' },
    listener: (event: EngineEvent) => void,
  ): Promise<void> {
    if (event.kind === 'gap' && engine === this.#docker) {
      await this.#listContainers().catch(() => undefined);
    }
    listener({ ...event, from: engine });
  }
}
