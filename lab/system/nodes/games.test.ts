import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isSoak } from '@portcullis/core/testing/repeated.ts';
import { type Game, GameClient } from '../../games/client.ts';
import { GameHost } from '../../games/game-host.ts';
import { type Effect, SCENARIOS, type Scenario } from '../../games/scenarios.ts';
import type { Facts } from '../../games/session.ts';
import { HOST } from '../../stack/internet.ts';
import { missing, require } from '../../requirements.ts';

const NEEDS = ['docker', 'apt'] as const;
/** They go on from their saves in two ways, and show both effects of a command. `first-game.test.ts` plays another. */
const PLAYED_IN_CI: readonly Game[] = ['luanti', 'freeciv'];
const PLAYED = SCENARIOS.filter(({ game }) => isSoak() || PLAYED_IN_CI.includes(game));

describe('shipped games, from the fleet file to its players, in a real container', {
  concurrency: 3,
}, () => {
  let host: GameHost;
  before(async () => {
    if (missing(NEEDS) !== null) return;
    host = await GameHost.start('games', PLAYED);
  });
  after(() => host?.stop());

  for (const scenario of PLAYED) {
    const { game } = scenario;
    it(`${game}: is built, runs by its own done line, is joined and commanded, keeps its save, restarts and is killed`, async (t) => {
      if (!require(t, NEEDS)) return;
      const play = new Play(host, scenario);
      await host.provisioned(game);
      await play.starts();
      await play.isCommanded();
      await play.stopsWithItsSave();
      await play.goesOn();
      await host.power(game, 'kill');
      await host.becomes(game, 'offline');
      await assert.rejects(play.joined(GONE_MS));
    });
  }
});

/** One game, played once. */
class Play {
  readonly #host: GameHost;
  readonly #scenario: Scenario;

  constructor(host: GameHost, scenario: Scenario) {
    this.#host = host;
    this.#scenario = scenario;
  }

  joined(patienceMs?: number): Promise<GameClient> {
    const { game, port } = this.#scenario;
    return GameClient.join(this.#host.players, game, HOST[4], port, patienceMs);
  }

  async starts(): Promise<void> {
    const { game, reported } = this.#scenario;
    await this.#host.power(game, 'start');
    await this.#host.runs(game);
    await this.#tells(reported);
  }

  async isCommanded(): Promise<void> {
    const { game, commanded, played } = this.#scenario;
    const client = await this.#until(() => this.joined());
    try {
      await this.#host.command(game, commanded.line);
      await this.#takesEffect(client, commanded.effect);
    } finally {
      await client.close();
    }
    for (const { line, answer } of played) {
      await this.#host.command(game, line);
      await this.#says(answer);
    }
  }

  async stopsWithItsSave(): Promise<void> {
    const { game, saved } = this.#scenario;
    await this.#host.power(game, 'stop');
    await this.#host.becomes(game, 'offline');
    const lines = await this.#host.lines(game);
    assert.ok(!lines.some((line) => SENT_SIGNAL.test(line)), 'its own stop did not end it');
    for (const pattern of saved)
      assert.notDeepEqual(this.#host.files(game, pattern), [], `${pattern} was not saved`);
  }

  /** Starts from what was saved, and again on a restart. */
  async goesOn(): Promise<void> {
    const { game, reported, resumed } = this.#scenario;
    const before = (await this.#host.lines(game)).length;
    await this.#host.power(game, 'start');
    await this.#host.runs(game);
    const lines = (await this.#host.lines(game)).slice(before).join('\n');
    if (resumed.kind === 'said') assert.match(lines, new RegExp(resumed.text));
    if (resumed.kind === 'unsaid') assert.doesNotMatch(lines, new RegExp(resumed.text));
    const facts = { ...reported, ...(resumed.kind === 'reported' ? resumed.facts : {}) };
    await this.#tells(facts);
    await this.#host.power(game, 'restart');
    await this.#host.runs(game);
    await this.#tells(facts);
  }

  /** Retries, because some games print their done line before they listen. */
  #tells(facts: Partial<Facts>): Promise<void> {
    return this.#until(async () => {
      const client = await this.joined();
      await client.close();
      assert.partialDeepStrictEqual(client.facts, facts);
    });
  }

  async #takesEffect(client: GameClient, effect: Effect): Promise<void> {
    if (effect.kind === 'heard') return client.hears(effect.text);
    // The console is another way than the game's own port: what was typed may arrive after what is asked.
    await this.#tells(effect.facts);
  }

  async #says(text: string): Promise<void> {
    await this.#until(async () => {
      const lines = await this.#host.lines(this.#scenario.game);
      assert.ok(
        lines.some((line) => line.includes(text)),
        `no "${text}" in:\n${lines.join('\n')}`,
      );
    });
  }

  async #until<T>(holds: () => Promise<T>): Promise<T> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await holds();
      } catch (error) {
        if (performance.now() > untilMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }
}

/** The node says so when the egg's own stop took too long. */
const SENT_SIGNAL = /^\[portcullis\] SIG(?:TERM|KILL) was sent to the server\.$/;
/** For the answer of a server that does not run any more. */
const GONE_MS = 5_000;
const PATIENCE_MS = 150_000;
const AGAIN_MS = 100;
