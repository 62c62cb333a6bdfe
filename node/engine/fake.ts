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
  type Usage,
} from './engine.ts';

/** A program that runs in an instance of the fake. */
export interface FakeProgram {
  readonly input?: (line: string) => void;
  readonly signal?: (signal: string) => void;
}
export interface FakeProcess {
  readonly spec: InstanceSpec;
  output(text: string): void;
  exit(code: number): void;
}
export type StartProgram = (process: FakeProcess) => FakeProgram;

/** A well-behaved game: prints `ready`, echoes lines, exits with 0 on `stop`, TERM and INT. */
export const echoServer: StartProgram = ({ output, exit }) => {
  output('ready\n');
  return {
    input: (line) => (line === 'stop' ? exit(0) : output(`${line}\n`)),
    signal: (signal) => {
      if (signal === 'SIGTERM' || signal === 'SIGINT') exit(0);
    },
  };
};

export type FakeOperation =
  | 'ping'
  | 'describe'
  | 'pull'
  | 'runInstall'
  | 'write'
  | FakeInstanceOperation;
type FakeInstanceOperation =
  | 'create'
  | 'start'
  | 'signal'
  | 'kill'
  | 'remove'
  | 'inspect'
  | 'list'
  | 'attach'
  | 'recentOutput';

/** Limit of the output for `recentOutput`. */
const KEPT_BYTES = 64 * 1024;
const USAGE_EVERY_MS = 100;

interface FakeInstance {
  readonly spec: InstanceSpec;
  state: Instance;
  program: FakeProgram | null;
  kept: Buffer;
  /** Listeners of the output, with the function that ends their console. */
  readonly listening: Map<(chunk: Buffer) => void, () => void>;
  /** Functions that stop a usage watch. */
  readonly watching: Set<() => void>;
}

/**
 * An engine for tests: runs TypeScript programs, records every call, and can be made to fail, to hang, and to change its
 * instances as an operator with `docker` does.
 */
export class FakeEngine implements Engine {
  readonly kind = 'fake';
  readonly calls: { readonly operation: FakeOperation; readonly uuid: string | null }[] = [];
  /** The program of instances that are started from now on. */
  program: StartProgram = echoServer;
  /** Runs installs; rejects when the signal aborts. */
  install: (
    spec: InstallSpec,
    output: (text: string) => void,
    signal: AbortSignal,
  ) => Promise<number> = async () => 0;
  /** Images that are present. */
  readonly images: Set<string>;
  /** Images that can be pulled. */
  readonly registry: Set<string>;
  /** The usage of every running instance. */
  usage: Usage = {
    memoryBytes: 1_000_000,
    cpuPercent: 1.5,
    networkRxBytes: 100,
    networkTxBytes: 200,
  };
  /** Awaited before each call; may delay the call, or fail it by throwing an `EngineError`. */
  before: (operation: FakeOperation, uuid: string | null) => Promise<void> | void = () => {};
  readonly #instances: Map<string, FakeInstance>;
  /** Shared by every engine over these instances. */
  readonly #listeners: Set<(event: EngineEvent) => void>;
  readonly #stops = new Set<() => void>();
  #lost: string | null = null;

  /** With `other`: an engine over the same instances and images, as a restarted agent has it. */
  constructor(other?: FakeEngine) {
    this.#instances = other === undefined ? new Map() : other.#instances;
    this.#listeners = other === undefined ? new Set() : other.#listeners;
    this.images = other?.images ?? new Set();
    this.registry = other?.registry ?? new Set(['game:1']);
    if (other !== undefined) this.program = other.program;
  }

  async ping(): Promise<void> {
    await this.#begin('ping', null);
  }

  async describe(): Promise<EngineFacts> {
    await this.#begin('describe', null);
    return {
      kind: 'fake',
      version: 'fake',
      apiVersion: 'fake',
      warnings: [],
      docker: null,
      programs: [],
    };
  }

  async pull(
    image: ImageRef,
    onProgress: (line: string) => void,
    signal: AbortSignal,
  ): Promise<null> {
    await this.#abortable(this.#begin('pull', null), signal);
    if (this.images.has(image.reference)) return null;
    if (image.local || !this.registry.has(image.reference)) throw missingImage(image.reference);
    onProgress(`pulled ${image.reference}`);
    this.images.add(image.reference);
    return null;
  }

  async create(spec: InstanceSpec): Promise<void> {
    await this.#begin('create', spec.uuid);
    const { reference } = spec.image;
    if (!this.images.has(reference)) throw missingImage(reference);
    const old = this.#instances.get(spec.uuid);
    if (old !== undefined && isAlive(old))
      throw new EngineError('refused', 'The server runs already.');
    this.#instances.set(spec.uuid, {
      spec,
      state: {
        uuid: spec.uuid,
        status: 'created',
        exitCode: null,
        oomKilled: false,
        startedAtMs: null,
      },
      program: null,
      kept: Buffer.alloc(0),
      listening: new Map(),
      watching: new Set(),
    });
  }

  async start(uuid: string): Promise<void> {
    await this.#begin('start', uuid);
    const instance = this.#existing(uuid);
    if (isAlive(instance)) return;
    for (const { ip, port, protocol } of instance.spec.ports) {
      if (this.#holdsPort(uuid, `${ip} ${port} ${protocol}`))
        throw new EngineError('port_taken', `Port ${port} of ${ip} is in use by something else.`);
    }
    const startedAtMs = Date.now();
    instance.state = {
      uuid,
      status: 'running',
      exitCode: null,
      oomKilled: false,
      startedAtMs,
    };
    this.#emit({ kind: 'changed', uuid });
    instance.program = this.program({
      spec: instance.spec,
      output: (text) => this.#output(instance, Buffer.from(text)),
      exit: (code) => this.#end(instance, code, false),
    });
    // The program may have exited during its start.
    if (!isAlive(instance)) instance.program = null;
  }

  async signal(uuid: string, signal: string): Promise<void> {
    await this.#begin('signal', uuid);
    const instance = this.#instances.get(uuid);
    if (instance === undefined || !isAlive(instance)) return;
    if (signal === 'SIGKILL') this.#end(instance, 137, false);
    else instance.program?.signal?.(signal);
  }

  async kill(uuid: string): Promise<void> {
    await this.#begin('kill', uuid);
    this.crash(uuid, 137);
  }

  async remove(uuid: string): Promise<void> {
    await this.#begin('remove', uuid);
    this.vanish(uuid);
  }

  async inspect(uuid: string): Promise<Instance | null> {
    await this.#begin('inspect', uuid);
    return this.#instances.get(uuid)?.state ?? null;
  }

  async list(): Promise<readonly Instance[]> {
    await this.#begin('list', null);
    return [...this.#instances.values()].map((instance) => instance.state);
  }

  onEvent(listener: (event: EngineEvent) => void): () => void {
    const send = (event: EngineEvent): void =>
      queueMicrotask(() => this.#listeners.has(send) && listener(event));
    this.#listeners.add(send);
    send(this.#lost === null ? { kind: 'gap' } : { kind: 'lost', reason: this.#lost });
    const stop = (): void => {
      this.#listeners.delete(send);
      this.#stops.delete(stop);
    };
    this.#stops.add(stop);
    return stop;
  }

  async attach(uuid: string, onOutput: (chunk: Buffer) => void): Promise<Console> {
    await this.#begin('attach', uuid);
    const instance = this.#existing(uuid);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    instance.listening.set(onOutput, resolve);
    return {
      ended,
      write: async (bytes) => {
        await this.#begin('write', uuid);
        if (!isAlive(instance) || !instance.listening.has(onOutput))
          throw new EngineError('refused', 'The server does not run.');
        for (const line of bytes.toString().split('\n').slice(0, -1))
          instance.program?.input?.(line);
      },
      close: () => {
        instance.listening.delete(onOutput);
        resolve();
      },
    };
  }

  async recentOutput(uuid: string, maxBytes: number): Promise<Buffer> {
    await this.#begin('recentOutput', uuid);
    const { kept } = this.#existing(uuid);
    return kept.subarray(Math.max(0, kept.length - maxBytes));
  }

  watchUsage(uuid: string, listener: (usage: Usage) => void): () => void {
    const instance = this.#instances.get(uuid);
    if (instance === undefined || !isAlive(instance)) return () => {};
    const ticking = setInterval(() => listener(this.usage), USAGE_EVERY_MS);
    const stop = (): void => {
      clearInterval(ticking);
      instance.watching.delete(stop);
      this.#stops.delete(stop);
    };
    instance.watching.add(stop);
    this.#stops.add(stop);
    return stop;
  }

  async runInstall(
    spec: InstallSpec,
    onOutput: (chunk: Buffer) => void,
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number }> {
    await this.#abortable(this.#begin('runInstall', spec.uuid), signal);
    if (!this.images.has(spec.image.reference)) throw missingImage(spec.image.reference);
    const output = (text: string): void => onOutput(Buffer.from(text));
    return { exitCode: await this.#abortable(this.install(spec, output, signal), signal) };
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
  }

  /** The specification of the instance, or null. */
  specOf(uuid: string): InstanceSpec | null {
    return this.#instances.get(uuid)?.spec ?? null;
  }

  /** Ends the process of an instance; no-op when it does not run. */
  crash(uuid: string, exitCode = 1, oomKilled = false): void {
    const instance = this.#instances.get(uuid);
    if (instance !== undefined && isAlive(instance)) this.#end(instance, exitCode, oomKilled);
  }

  /** Removes an instance as `docker rm -f` does. */
  vanish(uuid: string): void {
    this.crash(uuid, 137);
    if (this.#instances.delete(uuid)) this.#emit({ kind: 'changed', uuid });
  }

  pause(uuid: string): void {
    this.#move(uuid, 'running', 'paused');
  }

  unpause(uuid: string): void {
    this.#move(uuid, 'paused', 'running');
  }

  /** Ends the consoles of an instance. */
  detach(uuid: string): void {
    const { listening } = this.#existing(uuid);
    for (const end of listening.values()) end();
    listening.clear();
  }

  /** Makes a running instance print this. */
  say(uuid: string, text: string): void {
    this.#output(this.#existing(uuid), Buffer.from(text));
  }

  /** Makes every call fail with `unreachable`, and drops events. */
  lose(reason = 'The engine does not answer.'): void {
    this.#emit({ kind: 'lost', reason });
    this.#lost = reason;
  }

  /** Ends `lose`; sends `gap`. */
  find(): void {
    this.#lost = null;
    this.#emit({ kind: 'gap' });
  }

  async #begin(operation: FakeOperation, uuid: string | null): Promise<void> {
    this.calls.push({ operation, uuid });
    await this.before(operation, uuid);
    if (this.#lost !== null) throw new EngineError('unreachable', this.#lost);
  }

  async #abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(new EngineError('aborted', 'It was cancelled.'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([promise, work]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #existing(uuid: string): FakeInstance {
    const instance = this.#instances.get(uuid);
    if (instance === undefined) throw new EngineError('not_found', 'There is no such instance.');
    return instance;
  }

  #holdsPort(exceptUuid: string, port: string): boolean {
    return [...this.#instances.values()].some(
      (one) =>
        one.spec.uuid !== exceptUuid &&
        isAlive(one) &&
        one.spec.ports.some((held) => `${held.ip} ${held.port} ${held.protocol}` === port),
    );
  }

  #output(instance: FakeInstance, chunk: Buffer): void {
    if (!isAlive(instance)) return;
    instance.kept = Buffer.concat([instance.kept, chunk]).subarray(-KEPT_BYTES);
    for (const listener of instance.listening.keys()) listener(chunk);
  }

  #end(instance: FakeInstance, exitCode: number, oomKilled: boolean): void {
    if (!isAlive(instance)) return;
    const { uuid } = instance.spec;
    instance.state = { ...instance.state, status: 'exited', exitCode, oomKilled };
    instance.program = null;
    this.detach(uuid);
    for (const stop of instance.watching) stop();
    this.#emit({ kind: 'changed', uuid });
  }

  #move(uuid: string, from: Instance['status'], to: 'running' | 'paused'): void {
    const instance = this.#existing(uuid);
    if (instance.state.status !== from) return;
    instance.state = { ...instance.state, status: to };
    this.#emit({ kind: 'changed', uuid });
  }

  #emit(event: EngineEvent): void {
    if (this.#lost !== null) return;
    for (const listener of this.#listeners) listener(event);
  }
}

function isAlive({ state }: FakeInstance): boolean {
  return state.status === 'running' || state.status === 'paused';
}

function missingImage(reference: string): EngineError {
  return new EngineError('missing_image', `The image ${reference} is not there.`);
}
