import assert from 'node:assert/strict';
import { recover, step } from '../machine.ts';
import {
  type Answer,
  type Effect,
  type InstanceFacts,
  type MachineEvent,
  type MachineState,
  NEW_MACHINE,
  type PowerSettings,
  type Step,
} from '../machine-state.ts';

export const SETTINGS: PowerSettings = {
  hasDone: true,
  slowStartMs: 300_000,
  stopTimes: { termAfterMs: 60_000, killAfterMs: 20_000 },
  crashes: { restart: true, withinMs: 60_000, tries: 1 },
  startWithHost: 'as_before',
};

type Pending = Extract<Effect, { kind: 'launch' | 'send_stop' | 'inspect' }>;

/**
 * An engine, a game and a clock for one machine. Requests of the machine wait until the test completes them, with
 * success or failure and in any order; the invariants are checked after every step.
 */
export class World {
  machine: MachineState = NEW_MACHINE;
  settings: PowerSettings = SETTINGS;
  nowMs = 1_000_000;
  instance: InstanceFacts | null = null;
  /** The reaction of the game to stops: a stubborn one ends only by a kill. */
  endsBy: 'egg' | 'term' | 'kill' = 'egg';
  readonly effects: Effect[] = [];
  pending: Pending[] = [];
  #cancelled = false;
  #timers = new Map<string, { readonly atMs: number; readonly event: MachineEvent }>();
  #sent: { readonly rung: string; readonly atMs: number } | null = null;
  #started = 0;

  get isAlive(): boolean {
    return this.instance?.status === 'running' || this.instance?.status === 'paused';
  }

  post(event: MachineEvent): Answer | null {
    const before = this.machine;
    const done = step(before, event, { atMs: this.nowMs, settings: this.settings });
    this.#take(done, event, before);
    return done.answer;
  }

  /** The game ends by itself, or another client starts, ends, pauses or removes it. */
  change(instance: InstanceFacts | null): void {
    this.instance = instance;
    this.post({ kind: 'changed' });
  }

  begins(): InstanceFacts {
    this.#started += 1;
    return {
      status: 'running',
      exitCode: null,
      oomKilled: false,
      startedAtMs: this.nowMs + this.#started / 1_000,
    };
  }

  ends(exitCode = 1): InstanceFacts | null {
    return this.instance && { ...this.instance, status: 'exited', exitCode };
  }

  /** The host ends, and starts with the state of the agent on its disk. */
  restartHost(): void {
    this.instance = this.ends(255);
    this.#forget();
    const kept = JSON.parse(JSON.stringify(this.machine)) as MachineState;
    this.#take(recover(kept, true), null, kept);
  }

  /** The agent is killed and restarts with the state on its disk. A pending launch may have succeeded. */
  restartAgent(launchGotThrough: boolean): void {
    if (launchGotThrough && !this.isAlive && this.pending.some(({ kind }) => kind === 'launch')) {
      this.instance = this.begins();
    }
    this.#forget();
    const kept = JSON.parse(JSON.stringify(this.machine)) as MachineState;
    this.#take(recover(kept), null, kept);
  }

  #forget(): void {
    this.pending = [];
    this.#timers.clear();
    this.#cancelled = false;
  }

  /** Completes or fails the `index`th pending request; does nothing without one. */
  answer(index: number, isWell: boolean): void {
    const [effect] = this.pending.splice(index % Math.max(1, this.pending.length), 1);
    if (effect === undefined) return;
    if (effect.kind === 'launch') this.#launch(effect.run, isWell);
    else if (effect.kind === 'inspect') {
      const { run } = effect;
      const { instance } = this;
      this.post(isWell ? { kind: 'inspected', run, instance } : { kind: 'inspect_failed', run });
    } else this.#sendStop(effect, isWell);
  }

  /** Advances the time and fires timers in order. */
  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, { atMs }]) => atMs <= untilMs);
      const next = due.toSorted(([, a], [, b]) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      const [name, { atMs, event }] = next;
      this.#timers.delete(name);
      this.nowMs = atMs;
      this.post(event);
    }
    this.nowMs = untilMs;
  }

  /** Completes all requests until none is left; fails if that does not happen. */
  settle(): void {
    this.post({ kind: 'gap' });
    for (let rounds = 0; rounds < 500; rounds += 1) {
      if (this.pending.length > 0) this.answer(0, true);
      else if (this.#timers.size > 0) this.pass(this.#nextMs());
      else return;
    }
    assert.fail(`no rest: ${JSON.stringify(this.machine)}`);
  }

  #nextMs(): number {
    return Math.min(...[...this.#timers.values()].map(({ atMs }) => atMs)) - this.nowMs;
  }

  #launch(run: number, isWell: boolean): void {
    // A cancelled one may still succeed, as the test chooses.
    if (isWell && !this.#cancelled) {
      if (!this.isAlive) this.instance = this.begins();
      this.post({ kind: 'launched', run });
    } else {
      const reason = 'The image is not there.';
      const reachable = this.nowMs % 2 === 0;
      this.post({ kind: 'launch_failed', run, reason, reachable });
    }
  }

  #sendStop({ rung, epoch }: Extract<Effect, { kind: 'send_stop' }>, isWell: boolean): void {
    if (!isWell) {
      this.post({ kind: 'stop_failed', epoch, reachable: this.nowMs % 2 === 0 });
      return;
    }
    const isEnough =
      { egg: 0, term: 1, kill: 2 }[rung] >= { egg: 0, term: 1, kill: 2 }[this.endsBy];
    if (isEnough && this.isAlive) this.instance = this.ends(0);
    if (epoch === this.machine.epoch) this.#sent = { rung, atMs: this.nowMs };
    this.post({ kind: 'stop_sent', epoch });
    if (isEnough) this.post({ kind: 'changed' });
  }

  #take(done: Step, event: MachineEvent | null, before: MachineState): void {
    this.machine = done.state;
    for (const effect of done.effects) {
      this.effects.push(effect);
      if (effect.kind === 'phase_timer' || effect.kind === 'look_timer') {
        const { afterMs, ...rest } = effect;
        this.#timers.set(effect.kind, { atMs: this.nowMs + afterMs, event: rest });
      } else if (effect.kind === 'cancel_launch') this.#cancelled = true;
      else if (effect.kind !== 'attach') this.#begin(effect, event, before);
    }
  }

  #begin(effect: Pending, event: MachineEvent | null, before: MachineState): void {
    if (effect.kind === 'launch') {
      assert.ok(!this.pending.some(({ kind }) => kind === 'launch'), 'two launches at once');
      this.#cancelled = false;
    }
    if (effect.kind === 'send_stop') this.#checkPatience(effect.rung, event, before);
    this.pending.push(effect);
  }

  /** A stop escalates only after its time, or if the previous step could not be delivered. */
  #checkPatience(rung: string, event: MachineEvent | null, before: MachineState): void {
    if (event?.kind !== 'phase_timer' || before.phase.kind !== 'stopping') return;
    const { acknowledged, rung: last } = before.phase;
    if (!acknowledged || last === 'kill') return;
    const { termAfterMs, killAfterMs } = this.settings.stopTimes;
    const neededMs = rung === 'term' ? termAfterMs : killAfterMs;
    const sent = this.#sent;
    assert.ok(sent !== null && sent.rung === last, `${rung} without ${last}`);
    assert.ok(this.nowMs - sent.atMs >= neededMs, `${rung} too soon`);
  }
}
