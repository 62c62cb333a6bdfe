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
  crashes: { restart: true, withinMs: 60_000 },
};

type Pending = Extract<Effect, { kind: 'launch' | 'tell' | 'inspect' }>;

/**
 * An engine, a game and a clock around one machine. What the machine asks for waits until the test answers it, well
 * or badly and in any order; the invariants hold after every step.
 */
export class World {
  machine: MachineState = NEW_MACHINE;
  settings: PowerSettings = SETTINGS;
  nowMs = 1_000_000;
  instance: InstanceFacts | null = null;
  /** What the game does about what it is told: a stubborn one ends only by a kill. */
  endsBy: 'egg' | 'term' | 'kill' = 'egg';
  readonly effects: Effect[] = [];
  pending: Pending[] = [];
  #cancelled = false;
  #timers = new Map<string, { readonly atMs: number; readonly event: MachineEvent }>();
  #told: { readonly rung: string; readonly atMs: number } | null = null;
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

  /** A game of its own accord, or somebody else, starts, ends, pauses or removes it. */
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

  /** The agent is killed and comes back with what was on its disk. A launch it was at may have got through. */
  restartAgent(launchGotThrough: boolean): void {
    if (launchGotThrough && !this.isAlive && this.pending.some(({ kind }) => kind === 'launch')) {
      this.instance = this.begins();
    }
    this.pending = [];
    this.#timers.clear();
    this.#cancelled = false;
    const kept = JSON.parse(JSON.stringify(this.machine)) as MachineState;
    this.#take(recover(kept), null, kept);
  }

  /** The `index`th of what is asked for is done, or fails; no-op when there is none. */
  answer(index: number, isWell: boolean): void {
    const [effect] = this.pending.splice(index % Math.max(1, this.pending.length), 1);
    if (effect === undefined) return;
    if (effect.kind === 'launch') this.#launch(effect.run, isWell);
    else if (effect.kind === 'inspect') {
      const { run } = effect;
      const { instance } = this;
      this.post(isWell ? { kind: 'inspected', run, instance } : { kind: 'inspect_failed', run });
    } else this.#tell(effect, isWell);
  }

  /** Time passes; timers ring in their order. */
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

  /** Everything is answered well until nothing is left to do; fails when that does not come. */
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
    // A cancelled one may still get through; which, the test says.
    if (isWell && !this.#cancelled) {
      if (!this.isAlive) this.instance = this.begins();
      this.post({ kind: 'launched', run });
    } else {
      const reason = 'The image is not there.';
      const reachable = this.nowMs % 2 === 0;
      this.post({ kind: 'launch_failed', run, reason, reachable });
    }
  }

  #tell({ rung, epoch }: Extract<Effect, { kind: 'tell' }>, isWell: boolean): void {
    if (!isWell) {
      this.post({ kind: 'untold', epoch, reachable: this.nowMs % 2 === 0 });
      return;
    }
    const isEnough =
      { egg: 0, term: 1, kill: 2 }[rung] >= { egg: 0, term: 1, kill: 2 }[this.endsBy];
    if (isEnough && this.isAlive) this.instance = this.ends(0);
    if (epoch === this.machine.epoch) this.#told = { rung, atMs: this.nowMs };
    this.post({ kind: 'told', epoch });
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
    if (effect.kind === 'tell') this.#checkPatience(effect.rung, event, before);
    this.pending.push(effect);
  }

  /** A stop goes on to what is harsher only in its time, or when the gentler could not be said. */
  #checkPatience(rung: string, event: MachineEvent | null, before: MachineState): void {
    if (event?.kind !== 'phase_timer' || before.phase.kind !== 'stopping') return;
    const { told, rung: last } = before.phase;
    if (!told || last === 'kill') return;
    const { termAfterMs, killAfterMs } = this.settings.stopTimes;
    const neededMs = rung === 'term' ? termAfterMs : killAfterMs;
    const wasTold = this.#told;
    assert.ok(wasTold !== null && wasTold.rung === last, `${rung} without ${last}`);
    assert.ok(this.nowMs - wasTold.atMs >= neededMs, `${rung} too soon`);
  }
}
