import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PowerSignal, ServerState } from '@portcullis/core/game-servers/power.ts';
import type { ApiAnswer } from '../stack/api-client.ts';
import { Dockerd } from '../docker/dockerd.ts';
import { provideImages } from '@portcullis/node/images/provide.ts';
import { createInternet, type Internet } from '../stack/internet.ts';
import type { Namespace } from '../stack/netns.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import type { Game } from './client.ts';
import { NODE, renderGameFleet } from './fleet.ts';

export interface HostedGame {
  readonly game: Game;
  readonly port: number;
  readonly variables: Readonly<Record<string, string>>;
}

interface Detail {
  readonly data: { readonly provisioned: boolean; readonly state: ServerState | null };
}
interface Build {
  readonly data: { readonly reason: string | null; readonly log: string | null };
}

/** A limit for what hangs, not a goal: builds and starts of several games share the machine. */
const PATIENCE_MS = 180_000;
const AGAIN_MS = 50;
const LAST_LINES = 30;
/** The node says so among the server's own lines. */
const RUNS = '[portcullis] The server is running.';

/**
 * A game host as an operator has it: `portcullis up` with control, an enforcing edge and a node on a real Docker, a
 * fleet file that names the games, and players that come from the internet through the firewall.
 */
export class GameHost {
  readonly #internet: Internet;
  readonly #dockerd: Dockerd;
  readonly #stack: Stack;
  /** Runs of each game: how often it was seen to run. */
  readonly #runs = new Map<Game, number>();

  static async start(label: string, games: readonly HostedGame[]): Promise<GameHost> {
    const internet = createInternet(label);
    let dockerd: Dockerd | null = null;
    try {
      // The real one takes the place of its imitation.
      internet.edge.run('ip', 'link', 'delete', 'docker0');
      internet.edge.run('nft', 'delete', 'table', 'ip', 'dockerlike');
      dockerd = await Dockerd.start(label, { namespace: internet.edge });
      await provideImages(dockerd.socket);
      const args = ['--enforce', '--docker-host', `unix://${dockerd.socket}`];
      const stack = await startStack(internet, { fleet: fleetOf(games), args });
      return new GameHost(internet, dockerd, stack);
    } catch (error) {
      await dockerd?.stop();
      internet.destroy();
      throw error;
    }
  }

  private constructor(internet: Internet, dockerd: Dockerd, stack: Stack) {
    this.#internet = internet;
    this.#dockerd = dockerd;
    this.#stack = stack;
  }

  /** Where players come from. */
  get players(): Namespace {
    return this.#internet.client;
  }

  /** Resolves when it is provisioned; rejects with the log of its build when that takes too long. */
  async provisioned(game: Game): Promise<void> {
    const isSo = await this.#until(async () => (await this.#detail(game)).provisioned);
    if (isSo) return;
    const { body } = await this.#get<Build>(`/api/x1/game-servers/${uuidOf(game)}/build`);
    throw new Error(`${game} is not provisioned: ${JSON.stringify(body)}`);
  }

  power(game: Game, signal: PowerSignal): Promise<void> {
    return this.#accepted(game, 'power', { signal });
  }

  command(game: Game, command: string): Promise<void> {
    return this.#accepted(game, 'command', { command });
  }

  /** Resolves when it runs again: once for every start. */
  async runs(game: Game): Promise<void> {
    const times = (this.#runs.get(game) ?? 0) + 1;
    this.#runs.set(game, times);
    const count = async (): Promise<number> =>
      (await this.lines(game)).filter((line) => line === RUNS).length;
    if (!(await this.#until(async () => (await count()) >= times)))
      throw new Error(`${game} did not come to run:\n${await this.#end(game)}`);
    await this.becomes(game, 'running');
  }

  /** Rejects with the end of its console when it takes too long. */
  async becomes(game: Game, state: ServerState): Promise<void> {
    if (!(await this.#until(async () => (await this.#detail(game)).state === state)))
      throw new Error(`${game} did not become ${state}:\n${await this.#end(game)}`);
  }

  async lines(game: Game): Promise<readonly string[]> {
    const path = `/api/x1/game-servers/${uuidOf(game)}/console?lines=1000`;
    const { body } = await this.#get<{ readonly data: { readonly lines: readonly string[] } }>(
      path,
    );
    return body.data.lines;
  }

  /** In the server's folder, by globs. */
  files(game: Game, pattern: string): string[] {
    const cwd = join(this.#stack.dataDir, 'node', 'servers', uuidOf(game));
    return globSync(pattern, { cwd });
  }

  async stop(): Promise<void> {
    await this.#stack.stop();
    await this.#dockerd.stop();
    this.#internet.destroy();
  }

  async #accepted(game: Game, what: 'power' | 'command', body: object): Promise<void> {
    const path = `/api/v1/game-servers/${uuidOf(game)}/${what}`;
    const answer = await this.#stack.api.call('POST', path, body);
    if (answer.status !== 200)
      throw new Error(`${game} refused ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`);
  }

  async #detail(game: Game): Promise<Detail['data']> {
    return (await this.#get<Detail>(`/api/v1/game-servers/${uuidOf(game)}`)).body.data;
  }

  async #get<T>(path: string): Promise<ApiAnswer<T>> {
    const answer = await this.#stack.api.call<T>('GET', path);
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /** Asks again and again, as callers of the API do; false: in vain. */
  async #until(isSo: () => Promise<boolean>): Promise<boolean> {
    const untilMs = performance.now() + PATIENCE_MS;
    do {
      if (await isSo()) return true;
      await delay(AGAIN_MS);
    } while (performance.now() < untilMs);
    return false;
  }

  async #end(game: Game): Promise<string> {
    return (await this.lines(game)).slice(-LAST_LINES).join('\n');
  }
}

function fleetOf(games: readonly HostedGame[]): string {
  const limits = { memory: 512, cpu: 100, disk: 1024 };
  return renderGameFleet(
    games.map(({ game, port, variables }) => {
      const egg = `eggs/${game}.json`;
      return { uuid: uuidOf(game), name: game, node: NODE, egg, limits, port, variables };
    }),
  );
}

function uuidOf(game: Game): string {
  const digits = createHash('sha256').update(game).digest('hex');
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `4${digits.slice(13, 16)}`];
  return [...parts, `8${digits.slice(17, 20)}`, digits.slice(20, 32)].join('-');
}
