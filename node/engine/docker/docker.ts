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
  isAlive,
  type ListedInstance,
  type PublishedPort,
  type Usage,
} from '../engine.ts';
import { DockerClient } from './api/client.ts';
import { attachConsole, readRecentOutput } from './container/console.ts';
import {
  type ContainerStart,
  INSTALL_SCRIPT,
  renderContainer,
  TERMINAL,
} from './container/container.ts';
import { identityOf, ReadOnlyFiles } from './container/read-only-files.ts';
import { loginFile } from './api/registry-login.ts';
import { translateErrors } from './api/errors.ts';
import { watchEvents } from './api/events.ts';
import { ownerOf } from '../folder-owner.ts';
import type { HostGuard } from './network/guard.ts';
import {
  inspectImage,
  isInit,
  missingImage,
  pullImage,
  type PullSettings,
} from './container/images.ts';
import { removeContainer, runInstall } from './container/install.ts';
import { type ContainerJson, parseInstance, statusOf } from './container/instance.ts';
import { Names, ORGANISATION_LABEL, OWNER_LABEL, ROLE_LABEL, SERVER_LABEL } from './labels.ts';
import { type ContainerListJson, Networks } from './network/networks.ts';
import { watchContainerUsage } from './container/usage.ts';

export interface DockerEngineOptions {
  /** Path of Docker's unix socket. */
  readonly socketPath: string;
  /** Name of this node; objects of other owners on the same engine are left alone. */
  readonly owner: string;
  /** Null if the agent is not root: then nothing isolates servers from this host. */
  readonly guard: HostGuard | null;
  /** A folder of the agent; holds the files that containers see read-only. */
  readonly stateDir: string;
  /** Default: images by tag are refreshed at each start. */
  readonly pull?: PullSettings;
  /** The timeout of calls other than create and start. */
  readonly callMs?: number;
  /** The time that a network without a container is kept. */
  readonly emptyNetworkMs?: number;
}

const STEP_MS = 60_000;
const PING_MS = 5_000;

/** Game servers as Docker containers. */
export class DockerEngine implements Engine {
  readonly kind = 'docker';
  readonly #client: DockerClient;
  readonly #names: Names;
  readonly #networks: Networks;
  readonly #files: ReadOnlyFiles;
  readonly #pull: PullSettings;
  readonly #stops = new Set<() => void>();

  constructor(options: DockerEngineOptions) {
    const { socketPath, owner, guard, stateDir, pull, callMs, emptyNetworkMs } = options;
    this.#files = new ReadOnlyFiles(stateDir);
    this.#pull = pull ?? { policy: 'always', loginFile: loginFile() };
    this.#client = new DockerClient(socketPath, callMs);
    this.#names = new Names(owner);
    this.#networks = new Networks(this.#client, this.#names, guard, emptyNetworkMs);
    this.#networks.startSweeping();
  }

  ping(): Promise<void> {
    return translateErrors(() => this.#client.ping(PING_MS));
  }

  describe(): Promise<EngineFacts> {
    return translateErrors(async () => {
      const { engine, api } = await this.#client.version();
      const warnings = [
        'Disk limits hold for each file of a server; the sum of them is watched, not enforced by the kernel.',
      ];
      if (!this.#networks.isGuarded)
        warnings.push(
          'Servers can reach this host and what listens on it: run the agent as root, with nftables installed.',
        );
      const docker = { version: engine, lack: null };
      return {
        kind: this.kind,
        version: engine,
        apiVersion: api,
        warnings,
        docker,
        programs: [],
      };
    });
  }

  pull(
    image: ImageRef,
    onProgress: (line: string) => void,
    signal: AbortSignal,
  ): Promise<string | null> {
    return translateErrors(() => pullImage(this.#client, this.#pull, image, onProgress, signal));
  }

  create(spec: InstanceSpec): Promise<void> {
    return translateErrors(async () => {
      const owner = await ownerOf(spec.folder);
      const start = await this.#startOf(spec);
      const isMapped = (await this.#client.mappedRoot()) !== null;
      const old = await this.#find(spec.uuid);
      if (old !== null) {
        if (isAlive(parseInstance(spec.uuid, old)))
          throw new EngineError('refused', 'The server runs already.');
        await removeContainer(this.#client, old.Id);
      }
      const files = await this.#files.write(spec.uuid, identityOf(spec.uuid, owner));
      await this.#networks.hold(spec.organisation, [], () =>
        this.#client.call('POST', '/containers/create', {
          query: { name: this.#names.container(spec.uuid, 'game') },
          body: renderContainer(this.#names, spec, { ...start, owner, isMapped, files }),
          limitMs: STEP_MS,
        }),
      );
    });
  }

  start(uuid: string): Promise<void> {
    return translateErrors(async () => {
      const container = await this.#existing(uuid);
      const organisation = container.Config.Labels?.[ORGANISATION_LABEL] ?? '';
      // The network or the guard's table may have been deleted since the container was created.
      await this.#networks.hold(organisation, portsOf(container), () =>
        // 304: it runs already.
        this.#client.call('POST', `/containers/${container.Id}/start`, {
          expected: [304],
          limitMs: STEP_MS,
        }),
      );
      // Docker before its API 1.42 does not take the size from the container. Any error: it ended already.
      await this.#client.call('POST', `/containers/${container.Id}/resize`, {
        query: { h: String(TERMINAL.rows), w: String(TERMINAL.columns) },
        expected: [404, 409, 500],
        limitMs: STEP_MS,
      });
    });
  }

  signal(uuid: string, signal: string): Promise<void> {
    return translateErrors(async () => {
      const name = this.#names.container(uuid, 'game');
      // 404: gone. 409: it does not run.
      await this.#client.call('POST', `/containers/${name}/kill`, {
        query: { signal },
        expected: [404, 409],
        limitMs: STEP_MS,
      });
    });
  }

  kill(uuid: string): Promise<void> {
    return this.signal(uuid, 'SIGKILL');
  }

  remove(uuid: string): Promise<void> {
    return translateErrors(async () => {
      await removeContainer(this.#client, this.#names.container(uuid, 'install'));
      const container = await this.#find(uuid);
      if (container !== null) await removeContainer(this.#client, container.Id);
      await this.#files.remove(uuid);
      await this.#networks.sweep();
    });
  }

  inspect(uuid: string): Promise<Instance | null> {
    return translateErrors(async () => {
      const container = await this.#find(uuid);
      return container === null ? null : parseInstance(uuid, container);
    });
  }

  list(): Promise<readonly ListedInstance[]> {
    return translateErrors(async () => {
      const filters = JSON.stringify(this.#names.filter({ [ROLE_LABEL]: 'game' }));
      const query = { all: 'true', filters };
      const { body } = await this.#client.call('GET', '/containers/json', { query });
      return (body as readonly ContainerListJson[]).flatMap(({ Labels: labels, State: state }) => {
        const uuid = labels?.[SERVER_LABEL];
        return uuid === undefined ? [] : [{ uuid, status: statusOf(state) }];
      });
    });
  }

  onEvent(listener: (event: EngineEvent) => void): () => void {
    return this.#registerStop(watchEvents(this.#client, this.#names, listener));
  }

  attach(uuid: string, onOutput: (chunk: Buffer) => void): Promise<Console> {
    return translateErrors(async () => {
      const { Id: id } = await this.#existing(uuid);
      const console = await attachConsole(this.#client, id, onOutput);
      const stop = this.#registerStop(() => console.close());
      void console.ended.then(() => this.#stops.delete(stop));
      return console;
    });
  }

  recentOutput(uuid: string, maxBytes: number): Promise<Buffer> {
    return translateErrors(async () => {
      const { Id: id } = await this.#existing(uuid);
      return readRecentOutput(this.#client, id, maxBytes);
    });
  }

  watchUsage(uuid: string, listener: (usage: Usage) => void): () => void {
    const name = this.#names.container(uuid, 'game');
    return this.#registerStop(watchContainerUsage(this.#client, name, listener));
  }

  runInstall(
    spec: InstallSpec,
    onOutput: (chunk: Buffer) => void,
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number }> {
    return translateErrors(async () => {
      // A carriage return would become part of every command.
      const script = { [INSTALL_SCRIPT]: spec.script.replaceAll('\r\n', '\n') };
      const order = { spec, files: await this.#files.write(spec.uuid, script) };
      const exitCode = await this.#networks.hold(spec.organisation, [], () =>
        runInstall(this.#client, this.#names, order, onOutput, signal),
      );
      return { exitCode };
    });
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#networks.close();
    this.#client.close();
  }

  /** The program that the container starts, and whether it brings an init of its own. */
  async #startOf(spec: InstanceSpec): Promise<Pick<ContainerStart, 'command' | 'hasInit'>> {
    const { reference } = spec.image;
    const image = await inspectImage(this.#client, reference);
    if (image === null) throw missingImage(reference, 'it is not on this node');
    const command = spec.command ?? (image.hasCommand ? null : spec.fallbackCommand);
    if ((command === null && !image.hasCommand) || command?.length === 0)
      throw new EngineError('refused', `The image ${reference} defines no command to start.`);
    return { command, hasInit: isInit(command?.[0] ?? image.program) };
  }

  /** Returns null if there is no container, or it belongs to another owner. */
  async #find(uuid: string): Promise<ContainerJson | null> {
    const path = `/containers/${this.#names.container(uuid, 'game')}/json`;
    const { status, body } = await this.#client.call('GET', path, { expected: [404] });
    if (status === 404) return null;
    const container = body as ContainerJson;
    return container.Config.Labels?.[OWNER_LABEL] === this.#names.owner ? container : null;
  }

  async #existing(uuid: string): Promise<ContainerJson> {
    const container = await this.#find(uuid);
    if (container === null)
      throw new EngineError('not_found', 'There is no container of this server.');
    return container;
  }

  #registerStop(stop: () => void): () => void {
    const once = (): void => {
      this.#stops.delete(once);
      stop();
    };
    this.#stops.add(once);
    return once;
  }
}

function portsOf({ HostConfig: { PortBindings: bindings } }: ContainerJson): PublishedPort[] {
  return Object.entries(bindings ?? {}).flatMap(([key, hosts]) =>
    (hosts ?? []).map(({ HostIp: ip, HostPort: port }) => ({
      ip,
      port: Number(port),
      protocol: key.endsWith('/udp') ? ('udp' as const) : ('tcp' as const),
    })),
  );
}
