import type {
  Answer,
  Context,
  Effect,
  MachineEvent,
  MachineState,
} from '@portcullis/core/game-servers/machine-state.ts';
import { step } from '@portcullis/core/game-servers/machine.ts';
import type { PowerSignal } from '@portcullis/core/game-servers/power.ts';

export interface EventQueueOptions {
  readonly state: MachineState;
  readonly context: () => Context;
  /** Resolves once `decidedState` is on the disk. Must not reject. */
  readonly save: () => Promise<void>;
  /** Starts an effect, whose result comes as an event. Must not throw. */
  readonly perform: (effect: Effect) => void;
  readonly onChange: (state: MachineState, before: MachineState) => void;
}

interface QueuedEvent {
  readonly event: MachineEvent;
  /** Whether the caller's time has passed. */
  readonly isExpired: () => boolean;
  readonly resolve: (answer: Answer | null) => void;
}

/**
 * The serial queue of power events of one server. A decision is on the disk before its effects are started or its
 * answers are sent, so that a killed agent is followed by one that starts them again. Events that arrive during a
 * write are decided together, so many signals cost only a few writes.
 */
export class EventQueue {
  readonly #options: EventQueueOptions;
  #decided: MachineState;
  #state: MachineState;
  #events: QueuedEvent[] = [];
  #draining: Promise<void> | null = null;
  #closed = false;

  constructor(options: EventQueueOptions) {
    this.#options = options;
    this.#decided = options.state;
    this.#state = options.state;
  }

  /** The state that is on the disk and whose effects have started. */
  get state(): MachineState {
    return this.#state;
  }

  /** The latest decision, which may not be on the disk yet. */
  get decidedState(): MachineState {
    return this.#decided;
  }

  post(event: MachineEvent): void {
    this.#enqueue({ event, isExpired: () => false, resolve: () => {} });
  }

  /** Resolves with null if the signal had no effect, because the caller's time had passed. */
  signal(signal: PowerSignal, isExpired: () => boolean): Promise<Answer | null> {
    return new Promise((resolve) => {
      this.#enqueue({ event: { kind: 'signal', signal }, isExpired, resolve });
    });
  }

  /** Drops queued events; resolves when the write in progress is on the disk. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { resolve } of this.#events.splice(0)) resolve(null);
    await this.#draining;
  }

  #enqueue(event: QueuedEvent): void {
    if (this.#closed) {
      event.resolve(null);
      return;
    }
    this.#events.push(event);
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#events.length > 0) await this.#decide(this.#events.splice(0));
    this.#draining = null;
  }

  async #decide(events: readonly QueuedEvent[]): Promise<void> {
    const before = this.#decided;
    const effects: Effect[] = [];
    const answers: (() => void)[] = [];
    for (const { event, isExpired, resolve } of events) {
      if (isExpired()) {
        answers.push(() => resolve(null));
        continue;
      }
      const next = step(this.#decided, event, this.#options.context());
      this.#decided = next.state;
      effects.push(...next.effects);
      answers.push(() => resolve(next.answer));
    }
    const changed = JSON.stringify(before) !== JSON.stringify(this.#decided);
    if (changed) await this.#options.save();
    // After a close, the next agent continues from the saved decision.
    if (!this.#closed) for (const effect of effects) this.#options.perform(effect);
    this.#state = this.#decided;
    if (changed) this.#options.onChange(this.#state, before);
    for (const answer of answers) answer();
  }
}
