import type { Effect, MachineEvent, Rung } from '@portcullis/core/game-servers/machine-state.ts';
import type { Log } from '@portcullis/core/log.ts';
import { bounded, type Engine, EngineError, type Instance, sentenceOf } from '../engine/engine.ts';
import { encodeCommand, type Terminal } from './instance-connection.ts';
import type { LaunchedWith } from '../journal/record.ts';
import type { Limiter } from './limiter.ts';

const CALL_MS = 15_000;
/** The next look waits for it, so an engine that hung once must not hold it back for long. */
const INSPECT_MS = 5_000;

export interface RimOptions {
  readonly uuid: string;
  readonly engine: Engine;
  readonly terminal: Terminal;
  readonly launches: Limiter;
  readonly log: Log;
  /** Makes and starts the instance; resolves with what it was launched with, known before anything runs. */
  readonly launch: (signal: AbortSignal, run: number) => Promise<void>;
  readonly launched: () => LaunchedWith | null;
  readonly post: (event: MachineEvent) => void;
  /** What an inspection found, before the machine hears of it. */
  readonly found: (instance: Instance | null) => void;
}

/** Does what the machine decides. Whatever happens, each effect that has an answer gets it, within bounded time. */
export class Rim {
  readonly #options: RimOptions;
  #launching: AbortController | null = null;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Of the inspection under way, whether one more was asked for, and for which run. */
  #inspecting = false;
  #inspectNext: number | null = null;

  constructor(options: RimOptions) {
    this.#options = options;
  }

  perform(effect: Effect): void {
    switch (effect.kind) {
      case 'launch':
        void this.#launch(effect.run);
        break;
      case 'cancel_launch':
        this.#launching?.abort(new EngineError('aborted', 'It was called off.'));
        break;
      case 'tell':
        void this.#tell(effect.rung, effect.epoch);
        break;
      case 'inspect':
        this.#inspectNext = effect.run;
        if (!this.#inspecting) void this.#inspect();
        break;
      case 'attach':
        void this.#attach(effect.run);
        break;
      case 'phase_timer':
      case 'look_timer':
        this.#schedule(effect);
        break;
      default:
    }
  }

  /** What runs keeps running; a launch under way is called off. */
  close(): void {
    this.#launching?.abort(new EngineError('aborted', 'The agent is stopping.'));
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#options.terminal.close();
  }

  async #launch(run: number): Promise<void> {
    const { uuid, launches, launch, log, post } = this.#options;
    const abort = new AbortController();
    this.#launching = abort;
    try {
      await launches.run(abort.signal, () => launch(abort.signal, run));
      this.#options.terminal.started();
      post({ kind: 'launched', run });
    } catch (error) {
      log.warn({ uuid, error }, 'a server could not be started');
      // A launch that took too long is not tried for ever.
      const reachable = !(error instanceof EngineError && error.code === 'unreachable');
      post({ kind: 'launch_failed', run, reason: sentenceOf(error), reachable });
    } finally {
      this.#launching = null;
    }
  }

  async #tell(rung: Rung, epoch: number): Promise<void> {
    const { uuid, log, post } = this.#options;
    try {
      await this.#say(rung);
      post({ kind: 'told', epoch });
    } catch (error) {
      log.warn({ uuid, rung, error }, 'a server could not be told to stop');
      post({ kind: 'untold', epoch, reachable: isReachable(error) });
    }
  }

  async #say(rung: Rung): Promise<void> {
    const { uuid, engine, terminal } = this.#options;
    if (rung === 'kill') return bounded('kill it', CALL_MS, engine.kill(uuid));
    const stop = rung === 'egg' ? this.#options.launched()?.stop : undefined;
    if (stop?.kind === 'command') return terminal.write(encodeCommand(stop.command));
    const signal = stop?.signal ?? 'SIGTERM';
    return bounded(`send ${signal}`, CALL_MS, engine.signal(uuid, signal));
  }

  async #inspect(): Promise<void> {
    const { uuid, engine, log, post } = this.#options;
    this.#inspecting = true;
    while (this.#inspectNext !== null) {
      const run = this.#inspectNext;
      this.#inspectNext = null;
      try {
        const instance = await bounded('say what runs', INSPECT_MS, engine.inspect(uuid));
        this.#options.found(instance);
        post({ kind: 'inspected', run, instance });
      } catch (error) {
        log.debug({ uuid, error }, 'a server could not be looked at');
        post({ kind: 'inspect_failed', run });
      }
    }
    this.#inspecting = false;
  }

  async #attach(run: number): Promise<void> {
    const { uuid, terminal, launched, log, post } = this.#options;
    const launch = launched();
    if (launch !== null) terminal.watchDone(launch, () => post({ kind: 'done', run }));
    await terminal.reattach().catch((error: unknown) => {
      log.warn({ uuid, error }, 'the console of a running server could not be connected');
    });
  }

  #schedule(effect: Extract<Effect, { kind: 'phase_timer' | 'look_timer' }>): void {
    clearTimeout(this.#timers.get(effect.kind));
    const { kind, afterMs } = effect;
    const event: MachineEvent =
      effect.kind === 'phase_timer'
        ? { kind: 'phase_timer', epoch: effect.epoch }
        : { kind: 'look_timer', run: effect.run };
    const timer = setTimeout(() => {
      this.#timers.delete(kind);
      this.#options.post(event);
    }, afterMs);
    this.#timers.set(kind, timer);
  }
}

function isReachable(error: unknown): boolean {
  if (!(error instanceof EngineError)) return true;
  return error.code !== 'unreachable' && error.code !== 'timeout';
}
