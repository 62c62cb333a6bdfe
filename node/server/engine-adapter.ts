import { coalesce } from '@portcullis/link/coalesce.ts';
import type { Effect, MachineEvent, Rung } from '@portcullis/core/game-servers/machine-state.ts';
import type { Log } from '@portcullis/core/log.ts';
import {
  describeFailure,
  type Engine,
  EngineError,
  type Instance,
  withTimeout,
} from '../engine/engine.ts';
import type { InstanceConnection } from './instance-connection.ts';
import type { LaunchedWith } from '../journal/record.ts';
import type { Limiter } from '@portcullis/link/limiter.ts';

const CALL_MS = 15_000;
/** Bounded, so that an engine that hangs delays the next inspection only briefly. */
const INSPECT_MS = 5_000;

export interface EngineAdapterOptions {
  readonly uuid: string;
  readonly engine: Engine;
  readonly connection: InstanceConnection;
  readonly launches: Limiter;
  readonly log: Log;
  /** Rejects if the server may not start. A large folder must not hold the slot of another's launch. */
  readonly check: (signal: AbortSignal) => Promise<void>;
  /** Creates and starts the instance. */
  readonly launch: (signal: AbortSignal, run: number) => Promise<void>;
  readonly launched: () => LaunchedWith | null;
  readonly post: (event: MachineEvent) => void;
  /** Called with the result of an inspection, before it is posted. */
  readonly onInspected: (instance: Instance | null) => void;
}

/** Performs the effects of the power machine. Each effect that has an answer gets one within bounded time. */
export class EngineAdapter {
  readonly #options: EngineAdapterOptions;
  #launching: AbortController | null = null;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #inspecting = coalesce(() => this.#inspect());
  #inspectedRun = 0;

  constructor(options: EngineAdapterOptions) {
    this.#options = options;
  }

  perform(effect: Effect): void {
    switch (effect.kind) {
      case 'launch':
        void this.#launch(effect.run);
        break;
      case 'cancel_launch':
        this.#launching?.abort(new EngineError('aborted', 'It was cancelled.'));
        break;
      case 'send_stop':
        void this.#sendStop(effect.rung, effect.epoch);
        break;
      case 'inspect':
        this.#inspectedRun = effect.run;
        this.#inspecting.poke();
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

  /** Cancels a launch in progress; a running instance keeps running. */
  close(): void {
    this.#launching?.abort(new EngineError('aborted', 'The agent is stopping.'));
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#options.connection.close();
  }

  async #launch(run: number): Promise<void> {
    const { uuid, launches, check, launch, log, post } = this.#options;
    const abort = new AbortController();
    this.#launching = abort;
    try {
      await check(abort.signal);
      await launches.run(() => launch(abort.signal, run), abort.signal);
      this.#options.connection.watchUsage();
      post({ kind: 'launched', run });
      // One that ran already has a console only if that could be connected.
      if (!this.#options.connection.isAttached) post({ kind: 'detached' });
    } catch (error) {
      log.warn({ uuid, error }, 'a server could not be started');
      // A timeout counts as reachable, so that such a launch is not retried without end.
      const reachable = !(error instanceof EngineError && error.code === 'unreachable');
      post({ kind: 'launch_failed', run, reason: describeFailure(error), reachable });
    } finally {
      this.#launching = null;
    }
  }

  async #sendStop(rung: Rung, epoch: number): Promise<void> {
    const { uuid, connection, log, post } = this.#options;
    try {
      await this.#stop(rung);
      if (rung !== 'egg')
        connection.console.say(`SIG${rung.toUpperCase()} was sent to the server.`);
      post({ kind: 'stop_sent', epoch });
    } catch (error) {
      log.warn({ uuid, rung, error }, 'a stop could not be sent to a server');
      post({ kind: 'stop_failed', epoch, reachable: isReachable(error) });
    }
  }

  async #stop(rung: Rung): Promise<void> {
    const { uuid, engine, connection } = this.#options;
    if (rung === 'kill') return withTimeout('kill it', CALL_MS, engine.kill(uuid));
    const stop = rung === 'egg' ? this.#options.launched()?.stop : undefined;
    if (stop?.kind === 'command') return connection.writeCommand(stop.command);
    const signal = stop?.signal ?? 'SIGTERM';
    return withTimeout(`send ${signal}`, CALL_MS, engine.signal(uuid, signal));
  }

  async #inspect(): Promise<null> {
    const { uuid, engine, log, post, onInspected } = this.#options;
    const run = this.#inspectedRun;
    try {
      const instance = await withTimeout('say what runs', INSPECT_MS, engine.inspect(uuid));
      onInspected(instance);
      post({ kind: 'inspected', run, instance });
    } catch (error) {
      log.debug({ uuid, error }, 'a server could not be inspected');
      post({ kind: 'inspect_failed', run });
    }
    return null;
  }

  async #attach(run: number): Promise<void> {
    const { uuid, connection, launched, log, post } = this.#options;
    const launch = launched();
    if (launch !== null) connection.watchDone(launch, () => post({ kind: 'done', run }));
    await connection.reattach().catch((error: unknown) => {
      log.warn({ uuid, error }, 'the console of a running server could not be connected');
      // As for one that ended: the machine looks again later, as long as the server runs.
      post({ kind: 'detached' });
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
