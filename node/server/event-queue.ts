import { step } from '@portcullis/core/game-servers/machine.ts';
import type {
  Answer,
  Context,
  Effect,
  MachineEvent,
  MachineState,
} from '@portcullis/core/game-servers/machine-state.ts';
import type { PowerSignal } from '@portcullis/core/game-servers/power.ts';

export interface MailboxOptions {
  readonly state: MachineState;
  readonly context: () => Context;
  /** Resolves once `decided` is on the disk. Must not reject. */
  readonly save: () => Promise<void>;
  /** Begins an effect; how it went comes as an event. Must not throw. */
  readonly perform: (effect: Effect) => void;
  readonly onChange: (state: MachineState, before: MachineState) => void;
}

interface Letter {
  readonly event: MachineEvent;
  /** Whether nobody waits for it any more. */
  readonly isLate: () => boolean;
  readonly answered: (answer: Answer | null) => void;
}

/**
 * All that happens to the power of one server, one after the other. What was decided is on the disk before anything
 * of it is done or answered: an agent that is killed in between does it again. Events that come while the disk is
 * written to are decided together, so a thousand signals cost it no more than a few.
 */
export class Mailbox {
  readonly #options: MailboxOptions;
  #state: MachineState;
  #shown: MachineState;
  #letters: Letter[] = [];
  #draining: Promise<void> | null = null;
  #closed = false;

  constructor(options: MailboxOptions) {
    this.#options = options;
    this.#state = options.state;
    this.#shown = options.state;
  }

  /** As of what is on the disk and begun. */
  get state(): MachineState {
    return this.#shown;
  }

  /** As of what was decided; may not be on the disk yet. */
  get decided(): MachineState {
    return this.#state;
  }

  post(event: MachineEvent): void {
    this.#take({ event, isLate: () => false, answered: () => {} });
  }

  /** null: it came to nothing, as nobody waits any more. */
  ask(signal: PowerSignal, isLate: () => boolean): Promise<Answer | null> {
    return new Promise((answered) => {
      this.#take({ event: { kind: 'signal', signal }, isLate, answered });
    });
  }

  /** No event is taken any more; resolves when what is under way is on the disk. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const letter of this.#letters.splice(0)) letter.answered(null);
    await this.#draining;
  }

  #take(letter: Letter): void {
    if (this.#closed) {
      letter.answered(null);
      return;
    }
    this.#letters.push(letter);
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#letters.length > 0) await this.#decide(this.#letters.splice(0));
    this.#draining = null;
  }

  async #decide(letters: readonly Letter[]): Promise<void> {
    const before = this.#state;
    const effects: Effect[] = [];
    const answers: (() => void)[] = [];
    for (const { event, isLate, answered } of letters) {
      if (isLate()) {
        answers.push(() => answered(null));
        continue;
      }
      const done = step(this.#state, event, this.#options.context());
      this.#state = done.state;
      effects.push(...done.effects);
      answers.push(() => answered(done.answer));
    }
    const changed = JSON.stringify(before) !== JSON.stringify(this.#state);
    if (changed) await this.#options.save();
    // Closed meanwhile: the agent that comes next finds on the disk what was decided.
    if (!this.#closed) for (const effect of effects) this.#options.perform(effect);
    this.#shown = this.#state;
    if (changed) this.#options.onChange(this.#state, before);
    for (const answer of answers) answer();
  }
}
