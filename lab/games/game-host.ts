import { createHash } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { parseEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import type {
  PowerSignal,
  ServerAssignment,
  ServerState,
} from '@portcullis/core/game-servers/power.ts';
import type { NodeAgent } from '@portcullis/node/agent.ts';
import { createApplyConfigFiles } from '@portcullis/node/config-files/apply.ts';
import { createNode } from '@portcullis/node/create-node.ts';
import { NODE, TestControl } from '@portcullis/node/testing/control.ts';
import { buildDockerGround, type DockerGround, PLAYER } from '../docker-ground.ts';
import { provideImages } from '../images/provide.ts';
import { type Namespace, Network } from '../netns.ts';
import type { Game } from './client.ts';

export interface HostedGame {
  readonly game: Game;
  readonly port: number;
  readonly variables: Readonly<Record<string, string>>;
}

/** Where clients find the host's games. */
export const GAME_ADDRESS = '192.0.2.1';
const EGGS = join(import.meta.dirname, '..', '..', 'eggs');
const LIMITS = { memory: 512, cpu: 100, disk: 1024 } as const;
const PATIENCE_MS = 60_000;
const LAST_LINES = 30;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** A node with a real engine, the shipped images and eggs, and a network from which players come. */
export class GameHost {
  readonly players: Namespace;
  readonly #network: Network;
  readonly #ground: DockerGround;
  readonly #control = new TestControl();
  readonly #stateDir = mkdtempSync(join(tmpdir(), 'pcl-games-'));
  #agent: NodeAgent | null = null;

  static async start(label: string): Promise<GameHost> {
    const network = new Network(label);
    const docker = network.create('docker');
    const players = network.create('players');
    network.join(docker, { device: 'players0', addresses: [`${GAME_ADDRESS}/24`] }, players, {
      device: 'games0',
      addresses: ['192.0.2.2/24'],
    });
    const ground = await buildDockerGround(label, { namespace: docker });
    await provideImages(ground.dockerd.socket);
    return new GameHost(network, players, ground);
  }

  private constructor(network: Network, players: Namespace, ground: DockerGround) {
    this.#network = network;
    this.players = players;
    this.#ground = ground;
  }

  /** Has all of these built; resolves at once. */
  run(games: readonly HostedGame[]): void {
    const hosted = games.map((game) => ({ ...game, egg: shippedEgg(game.game) }));
    const eggs = Object.fromEntries(hosted.map(({ egg }) => [digestOf(egg), egg]));
    this.#control.assign(hosted.map(assignmentOf), eggs);
    this.#agent = createNode({
      name: NODE,
      link: this.#control.connect(),
      engine: this.#ground.engine,
      stateDir: this.#stateDir,
      owner: PLAYER,
      applyConfigFiles: createApplyConfigFiles(),
      log: quiet,
    });
    this.#agent.start();
  }

  /** Rejects with the log of an install that failed. */
  async built(game: Game): Promise<void> {
    const build = await this.#control.reported(uuidOf(game), ({ state }) =>
      ['built', 'failed'].includes(state),
    );
    if (build.state === 'failed') throw new Error(`${game}: ${build.reason}\n${build.log}`);
  }

  /** Rejects when the node refuses. */
  async power(game: Game, signal: PowerSignal): Promise<void> {
    await this.#accepted(game, { kind: 'power', signal });
  }

  async command(game: Game, command: string): Promise<void> {
    await this.#accepted(game, { kind: 'command', command });
  }

  /** Rejects with the end of its console when it takes too long. */
  async becomes(game: Game, power: ServerState): Promise<void> {
    const reported = this.#control.reported(uuidOf(game), (build) => build.power === power);
    const late = new AbortController();
    const lateness = delay(PATIENCE_MS, true, { signal: late.signal }).catch(() => false);
    const isLate = await Promise.race([reported.then(() => false), lateness]);
    late.abort();
    if (!isLate) return;
    const report = this.#control.report?.builds.find(({ uuid }) => uuid === uuidOf(game));
    const lines = (await this.lines(game)).slice(-LAST_LINES);
    throw new Error(`${game} is ${report?.power}, not ${power}:\n${lines.join('\n')}`);
  }

  async lines(game: Game): Promise<readonly string[]> {
    const answer = await this.#control.call(uuidOf(game), { kind: 'lines', last: 1000 });
    return answer?.kind === 'lines' ? answer.lines : [];
  }

  /** In the server's folder, by globs. */
  files(game: Game, pattern: string): string[] {
    return globSync(join('servers', uuidOf(game), pattern), { cwd: this.#stateDir });
  }

  async stop(): Promise<void> {
    await this.#agent?.stop();
    await this.#control.close();
    await this.#ground.stop();
    this.#network.destroy();
    rmSync(this.#stateDir, { recursive: true, force: true });
  }

  async #accepted(game: Game, call: Parameters<TestControl['call']>[1]): Promise<void> {
    const answer = await this.#control.call(uuidOf(game), call);
    if (answer?.kind !== 'accepted')
      throw new Error(`${game} does not take ${JSON.stringify(call)}: ${JSON.stringify(answer)}`);
  }
}

function shippedEgg(name: string): Egg {
  const parsed = parseEgg(readFileSync(join(EGGS, `${name}.json`), 'utf8'));
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value.egg;
}

function assignmentOf({
  game,
  port,
  variables,
  egg,
}: HostedGame & { readonly egg: Egg }): ServerAssignment {
  return {
    uuid: uuidOf(game),
    organisation: 'acme',
    name: game,
    egg: digestOf(egg),
    image: null,
    variables,
    limits: LIMITS,
    allocation: { ip: GAME_ADDRESS, port },
    suspended: false,
    crashes: { restart: true, withinMs: 60_000 },
    buildEpoch: 1,
  };
}

function uuidOf(game: Game): string {
  const digits = createHash('sha256').update(game).digest('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

function digestOf(egg: Egg): string {
  return createHash('sha256').update(JSON.stringify(egg)).digest('hex');
}
