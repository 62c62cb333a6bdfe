import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer, isIPv6 } from 'node:net';
import { join } from 'node:path';
import {
  type Console,
  type Engine,
  EngineError,
  type EngineEvent,
  type EngineFacts,
  type ImageRef,
  type Instance,
  type InstanceSpec,
  type PublishedPort,
  type Usage,
  withTimeout,
} from '../engine.ts';
import { type FolderOwner, ownerOf } from '../folder-owner.ts';
import { InstanceFolder, listInstanceFolders, writeInput } from './instance-folder.ts';
import { signalGroup, startSupervisor, watchSupervisor } from './supervisor.ts';
import { OutputTail, readRecent } from './output.ts';
import { watchGroupUsage } from './usage.ts';

export interface ProcessEngineOptions {
  /** A directory of its own, which outlives the agent. */
  readonly stateDir: string;
  /** Programs by image reference. */
  readonly images: Readonly<Record<string, { readonly entrypoint: readonly string[] }>>;
}

const KILL_MS = 10_000;
const WARNING =
  'Game servers run as plain processes: nothing isolates them from this host or from each other, and neither memory nor processor time nor files are limited. Use Docker for anything but trying out.';

interface Watched {
  readonly stop: () => void;
  readonly ended: Promise<void>;
}

/**
 * Game servers as plain processes, without isolation: for the shipped example, and where the operator chooses it. A
 * process runs as the owner of its folder, never as root, and outlives the agent; instance-folder.ts says how it is found.
 */
export class ProcessEngine implements Engine {
  readonly kind = 'process';
  readonly #root: string;
  readonly #images: ProcessEngineOptions['images'];
  readonly #listeners = new Set<(event: EngineEvent) => void>();
  readonly #watched = new Map<string, Watched>();
  readonly #tails = new Map<string, Set<OutputTail>>();
  readonly #usages = new Map<string, Set<() => void>>();
  #closed = false;

  constructor({ stateDir, images }: ProcessEngineOptions) {
    this.#root = join(stateDir, 'processes');
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    this.#images = images;
  }

  async ping(): Promise<void> {
    // This engine has no service that could hang.
  }

  async describe(): Promise<EngineFacts> {
    const { kind } = this;
    const programs = Object.keys(this.#images);
    return {
      kind,
      version: process.version,
      apiVersion: 'none',
      warnings: [WARNING],
      docker: null,
      programs,
    };
  }

  async pull(image: ImageRef): Promise<null> {
    this.#entrypointOf(image);
    return null;
  }

  async create(spec: InstanceSpec): Promise<void> {
    this.#entrypointOf(spec.image);
    if (spec.mounts.length > 0) {
      throw new EngineError('refused', 'A plain process sees no mounts: they need Docker.');
    }
    await this.#accountOf(spec);
    const folder = this.#folder(spec.uuid);
    if (folder.isAlive()) throw new EngineError('refused', 'The server runs already.');
    this.#forget(spec.uuid);
    await folder.make(spec);
  }

  async start(uuid: string): Promise<void> {
    const folder = this.#folder(uuid);
    const spec = await this.#existing(folder);
    if (folder.isAlive()) return;
    const command = spec.command ?? this.#entrypointOf(spec.image);
    const owner = await this.#accountOf(spec);
    await this.#checkPorts(spec);
    await startSupervisor(folder, spec, command, owner);
    this.#watch(uuid, folder);
    this.#emit({ kind: 'changed', uuid });
  }

  async signal(uuid: string, signal: string): Promise<void> {
    const folder = this.#folder(uuid);
    if (!folder.isAlive()) return;
    const pid = (await folder.record())?.pid ?? null;
    if (pid !== null && folder.isAlive()) signalGroup(pid, signal);
  }

  kill(uuid: string): Promise<void> {
    return this.signal(uuid, 'SIGKILL');
  }

  async remove(uuid: string): Promise<void> {
    const folder = this.#folder(uuid);
    if ((await folder.spec()) === null) return;
    if (folder.isAlive()) {
      this.#watch(uuid, folder);
      const ended = this.#watched.get(uuid)?.ended;
      await this.kill(uuid);
      await withTimeout('end the process', KILL_MS, ended ?? Promise.resolve());
    }
    this.#forget(uuid);
    await folder.remove();
    this.#emit({ kind: 'changed', uuid });
  }

  inspect(uuid: string): Promise<Instance | null> {
    return this.#folder(uuid).inspect();
  }

  async list(): Promise<readonly Instance[]> {
    const folders = await listInstanceFolders(this.#root);
    const found = await Promise.all(folders.map((folder) => folder.inspect()));
    return found.filter((instance) => instance !== null);
  }

  onEvent(listener: (event: EngineEvent) => void): () => void {
    const send = (event: EngineEvent): void => listener(event);
    // Processes that outlived another agent are watched before `gap` makes the agent inspect.
    const begin = async (): Promise<void> => {
      for (const { uuid } of await this.list()) {
        const folder = this.#folder(uuid);
        if (folder.isAlive()) this.#watch(uuid, folder);
      }
    };
    const stopped = new AbortController();
    begin()
      .catch(() => undefined)
      .finally(() => {
        if (stopped.signal.aborted || this.#closed) return;
        this.#listeners.add(send);
        send({ kind: 'gap' });
      });
    return () => {
      stopped.abort();
      this.#listeners.delete(send);
    };
  }

  async attach(uuid: string, onOutput: (chunk: Buffer) => void): Promise<Console> {
    const folder = this.#folder(uuid);
    await this.#existing(folder);
    const tail = await OutputTail.open(folder, onOutput);
    const tails = this.#tails.get(uuid) ?? new Set();
    this.#tails.set(uuid, tails.add(tail));
    return {
      write: async (bytes) => writeInput(folder, bytes),
      ended: tail.ended,
      close: () => {
        tail.close();
        tails.delete(tail);
      },
    };
  }

  async recentOutput(uuid: string, maxBytes: number): Promise<Buffer> {
    const folder = this.#folder(uuid);
    await this.#existing(folder);
    return readRecent(folder, maxBytes);
  }

  watchUsage(uuid: string, listener: (usage: Usage) => void): () => void {
    const folder = this.#folder(uuid);
    const usages = this.#usages.get(uuid) ?? new Set();
    this.#usages.set(uuid, usages);
    let stop = (): void => {};
    let stopped = false;
    const end = (): void => {
      stopped = true;
      usages.delete(end);
      stop();
    };
    usages.add(end);
    const begin = async (): Promise<void> => {
      const pid = (await folder.record())?.pid ?? null;
      if (stopped || pid === null || !folder.isAlive()) return;
      stop = watchGroupUsage(pid, listener);
    };
    begin().catch(() => undefined);
    return end;
  }

  async runInstall(): Promise<{ readonly exitCode: number }> {
    throw new EngineError(
      'refused',
      'This egg is installed in a container, which plain processes do without: use Docker.',
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    for (const uuid of [...this.#watched.keys(), ...this.#tails.keys(), ...this.#usages.keys()])
      this.#forget(uuid);
  }

  /** Whether there is an instance, running or not. */
  has(uuid: string): boolean {
    return existsSync(this.#folder(uuid).path('spec.json'));
  }

  #folder(uuid: string): InstanceFolder {
    return new InstanceFolder(this.#root, uuid);
  }

  async #existing(folder: InstanceFolder): Promise<InstanceSpec> {
    const spec = await folder.spec();
    if (spec === null) throw new EngineError('not_found', 'There is no process of this server.');
    return spec;
  }

  #entrypointOf({ reference }: ImageRef): readonly string[] {
    if (Object.hasOwn(this.#images, reference)) {
      const image = this.#images[reference];
      if (image !== undefined) return image.entrypoint;
    }
    throw new EngineError(
      'missing_image',
      `${reference} runs in Docker, which this node was started without (--engine process): only programs that come with Portcullis run here.`,
    );
  }

  async #accountOf({ folder }: InstanceSpec): Promise<FolderOwner> {
    const owner = await ownerOf(folder);
    const own = process.getuid?.();
    if (own !== 0 && own !== owner.uid)
      throw new EngineError('refused', 'The folder of the server belongs to another account.');
    return owner;
  }

  async #checkPorts(spec: InstanceSpec): Promise<void> {
    for (const folder of await listInstanceFolders(this.#root)) {
      const other = folder.isAlive() ? await folder.spec() : null;
      if (other === null || other.uuid === spec.uuid) continue;
      for (const { ip, port, protocol } of spec.ports)
        if (other.ports.some((o) => o.ip === ip && o.port === port && o.protocol === protocol))
          throw portTaken(ip, port);
    }
    for (const port of spec.ports) await checkPort(port);
  }

  /** Reports the end of a process; no-op if it is watched already. */
  #watch(uuid: string, folder: InstanceFolder): void {
    if (this.#watched.has(uuid) || this.#closed) return;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const stop = watchSupervisor(folder, () => {
      const finish = async (): Promise<void> => {
        const pid = (await folder.record())?.pid ?? null;
        // Child processes that still run are killed, as in a container.
        if (pid !== null) signalGroup(pid, 'SIGKILL');
        for (const tail of this.#tails.get(uuid) ?? []) {
          await tail.drain();
          tail.close();
        }
        this.#watched.delete(uuid);
        this.#endUsages(uuid);
        this.#emit({ kind: 'changed', uuid });
      };
      finish()
        .catch(() => undefined)
        .finally(() => resolve());
    });
    this.#watched.set(uuid, { stop, ended });
  }

  #forget(uuid: string): void {
    this.#watched.get(uuid)?.stop();
    this.#watched.delete(uuid);
    this.#endUsages(uuid);
    for (const tail of this.#tails.get(uuid) ?? []) tail.close();
    this.#tails.delete(uuid);
  }

  #endUsages(uuid: string): void {
    for (const stop of this.#usages.get(uuid) ?? []) stop();
    this.#usages.delete(uuid);
  }

  #emit(event: EngineEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/**
 * Rejects with `port_taken` or `address_missing` if a process could not listen there. It tries by listening for a moment:
 * the kernel offers no other check, and each game reports the error in its own way.
 */
async function checkPort({ ip, port, protocol }: PublishedPort): Promise<void> {
  try {
    await (protocol === 'tcp' ? tryTcp(ip, port) : tryUdp(ip, port));
  } catch (error) {
    const options = { cause: error };
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw portTaken(ip, port, options);
    if (code === 'EADDRNOTAVAIL')
      throw new EngineError(
        'address_missing',
        `This node does not have the address ${ip}.`,
        options,
      );
    // Other errors are left to the game, which may have rights that the agent lacks (ports below 1024).
  }
}

function portTaken(ip: string, port: number, options?: ErrorOptions): EngineError {
  const message = `Port ${port} of ${ip} is in use by something else on this node.`;
  return new EngineError('port_taken', message, options);
}

async function tryTcp(host: string, port: number): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  const listening = once(server, 'listening');
  server.listen({ host, port, exclusive: true });
  await listening;
  const closed = once(server, 'close');
  server.close();
  await closed;
}

async function tryUdp(address: string, port: number): Promise<void> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const listening = once(socket, 'listening');
  socket.bind({ address, port, exclusive: true });
  await listening;
  const closed = once(socket, 'close');
  socket.close();
  await closed;
}
