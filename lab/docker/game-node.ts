import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type {
  PowerSignal,
  ServerAssignment,
  ServerResources,
  ServerState,
} from '@portcullis/core/game-servers/power.ts';
import type { NodeAnswer, ServerBuild } from '@portcullis/link/messages/node.ts';
import { CONFIG_VARIABLE, type NodeConfig } from '@portcullis/node/config.ts';
import { DEFAULT_ACCOUNTS } from '@portcullis/node/server-folder/account-range.ts';
import { NODE, TestControl } from '@portcullis/node/testing/control.ts';
import { assignmentOf, uuidOf } from '@portcullis/node/testing/eggs.ts';
import { eventually } from '../system/stack-fixture.ts';
import type { DockerFixture } from './docker-fixture.ts';
import { idOf } from './server-shell.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'node', 'main.ts');
const PATIENCE_MS = 90_000;
/** For the answer of a node that does what it is asked; longer than control waits, for a busy machine. */
const WITHIN_MS = 15_000;
const LOG_END = 8_000;

/** A server of the node: its egg, and what its assignment has beyond the usual. */
export interface HostedServer {
  readonly egg: Egg;
  readonly changes?: Partial<ServerAssignment>;
}

/** The process of a node with its Docker, and a control that it obeys. Servers are numbered from 1. */
export class GameNode {
  readonly control = new TestControl();
  readonly stateDir: string;
  readonly #fixture: DockerFixture;
  readonly #home = mkdtempSync(join(tmpdir(), 'pcl-node-'));
  #changes: Partial<NodeConfig>;
  #count = 0;
  #agent: ChildProcess | null = null;
  #log = '';

  static async start(
    fixture: DockerFixture,
    servers: readonly HostedServer[],
    changes: Partial<NodeConfig> = {},
  ): Promise<GameNode> {
    const node = new GameNode(fixture, changes);
    await node.control.listen(node.#socket);
    node.assign(servers);
    await node.beginAgent();
    return node;
  }

  private constructor(fixture: DockerFixture, changes: Partial<NodeConfig>) {
    this.#fixture = fixture;
    this.#changes = changes;
    // As the directory above a node's own: other accounts pass through it.
    chmodSync(this.#home, 0o711);
    this.stateDir = join(this.#home, 'state');
    mkdirSync(this.stateDir);
  }

  get #socket(): string {
    return join(this.#home, 'nodes.sock');
  }

  /** The text that the agent wrote to its log, the end of it. */
  get log(): string {
    return this.#log;
  }

  /** The configuration of the next agent, where it differs from the usual. */
  use(changes: Partial<NodeConfig>): void {
    this.#changes = changes;
  }

  assign(servers: readonly HostedServer[]): void {
    const eggs: Record<string, Egg> = {};
    const assigned = servers.map(({ egg, changes }, index) => {
      const digest = createHash('sha256').update(JSON.stringify(egg)).digest('hex');
      eggs[digest] = egg;
      return assignmentOf(index + 1, digest, changes);
    });
    this.#count = servers.length;
    this.control.assign(assigned, eggs);
  }

  /** Resolves when it is there; calls wait until it has joined. */
  async beginAgent(): Promise<void> {
    this.control.expectAgent();
    const { dockerd } = this.#fixture;
    const config: NodeConfig = {
      name: NODE,
      linkPath: this.#socket,
      credential: 'none',
      stateDir: this.stateDir,
      engine: 'docker',
      dockerHost: `unix://${dockerd.socket}`,
      imagePull: 'always',
      closedNetworks: [],
      openNetworks: [],
      mounts: [],
      accounts: DEFAULT_ACCOUNTS,
      sftp: null,
      files: null,
      onStop: 'leave',
      ...this.#changes,
    };
    const [command, ...args] = dockerd.namespace.command(process.execPath, MAIN);
    const env = { ...process.env, [CONFIG_VARIABLE]: JSON.stringify(config) };
    const agent = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    agent.stderr?.on('data', (chunk: Buffer) => {
      this.#log = `${this.#log}${chunk}`.slice(-LOG_END);
    });
    this.#agent = agent;
    await once(agent, 'message');
  }

  async killAgent(): Promise<void> {
    const agent = this.#agent;
    if (agent === null) return;
    const ended = once(agent, 'exit');
    agent.kill('SIGKILL');
    await ended;
    this.#agent = null;
  }

  /** Resolves with the end of a build, whatever it is. */
  built(number = 1, epoch = 1): Promise<ServerBuild> {
    return this.control.reported(
      uuidOf(number),
      (build) => build.epoch === epoch && (build.state === 'built' || build.state === 'failed'),
    );
  }

  /** Builds and starts a server. */
  async run(number = 1): Promise<void> {
    const { state, reason, log } = await this.built(number);
    if (state !== 'built') throw new Error(`not built: ${reason}\n${log}`);
    await this.power('start', number);
    await this.becomes('running', number);
  }

  call(
    call: Parameters<TestControl['call']>[1],
    { number = 1, withinMs = WITHIN_MS } = {},
  ): Promise<NodeAnswer | null> {
    return this.control.call(uuidOf(number), call, withinMs);
  }

  power(signal: PowerSignal, number = 1): Promise<NodeAnswer | null> {
    return this.call({ kind: 'power', signal }, { number });
  }

  command(command: string, number = 1): Promise<NodeAnswer | null> {
    return this.call({ kind: 'command', command }, { number });
  }

  async lines(number = 1): Promise<readonly string[]> {
    const answer = await this.call({ kind: 'lines', last: 1000, colours: false }, { number });
    return answer?.kind === 'lines' ? answer.lines : [];
  }

  async state(number = 1): Promise<ServerState | null> {
    const answer = await this.call({ kind: 'look' }, { number, withinMs: 2_000 });
    return answer?.kind === 'state' ? answer.state : null;
  }

  async resources(): Promise<ServerResources | null> {
    const answer = await this.call({ kind: 'look' });
    return answer?.kind === 'state' ? answer.resources : null;
  }

  /** Resolves when a line of the console is this one, or matches it. */
  says(line: string | RegExp, number = 1): Promise<void> {
    const isIt = (one: string): boolean =>
      typeof line === 'string' ? one === line : line.test(one);
    return this.eventually(
      `says ${line}`,
      async () => (await this.lines(number)).some(isIt),
      number,
    );
  }

  becomes(wanted: ServerState | null, number = 1): Promise<void> {
    const isSo = async (): Promise<boolean> => (await this.state(number)) === wanted;
    return this.eventually(`it is ${wanted}`, isSo, number);
  }

  /** Resolves when another container took the place of this one. */
  replaces(id: string): Promise<void> {
    return this.eventually('another instance', async () => {
      return (await idOf(this.#fixture, uuidOf(1)).catch(() => id)) !== id;
    });
  }

  async eventually(hope: string, isSo: () => Promise<boolean>, number = 1): Promise<void> {
    await eventually(hope, isSo, PATIENCE_MS).catch(async (error: Error) => {
      const lines = (await this.lines(number)).slice(-20).join('\n');
      throw new Error(`${error.message}:\n${lines}\n${this.#log}`);
    });
  }

  async stop(): Promise<void> {
    await this.killAgent();
    await this.control.close();
    for (let number = 1; number <= this.#count; number += 1) {
      // A test that failed may have left none.
      const id = await idOf(this.#fixture, uuidOf(number)).catch(() => null);
      if (id !== null) await this.#fixture.dockerd.call('DELETE', `/containers/${id}?force=1`);
    }
    rmSync(this.#home, { recursive: true, force: true });
  }
}
