/** How much more another observer must report, with certainty, to replace the present one. */
const MORE = 1.25;
const SURE_ERRORS = 3;

/** The recent traffic of a subject by one observer. */
export interface Lead {
  readonly slot: number;
  /** Identifies the use of the slot: the next subject gets another number. */
  readonly tenure: number;
  readonly packets: number;
  readonly variance: number;
}

/**
 * Chooses which of several observers of the same packets counts for a subject. The choice is stable, because the
 * maximum over exports at different times would exceed the real traffic. Another observer takes over when it has
 * reported more for some time.
 */
export class Leaders {
  readonly #leads = new Map<string, Pick<Lead, 'slot' | 'tenure'>>();
  readonly #leadOf: (slot: number) => Lead;
  readonly #capacity: number;

  constructor(capacity: number, leadOf: (slot: number) => Lead) {
    this.#capacity = capacity;
    this.#leadOf = leadOf;
  }

  /** Returns the counting slot among the active slots of a subject, or null. */
  choose(subject: string, slots: readonly number[]): number | null {
    const known = this.#leads.get(subject);
    const before = known === undefined ? null : this.#leadOf(known.slot);
    const leader = before !== null && before.tenure === known?.tenure ? before : null;
    let best = leader;
    for (const slot of slots) {
      const one = this.#leadOf(slot);
      if (one.slot === leader?.slot) continue;
      if (best === null || isSurelyMore(one, best)) best = one;
    }
    if (best === null) return null;
    if (best.slot !== leader?.slot) this.#note(subject, best);
    return slots.includes(best.slot) ? best.slot : null;
  }

  get size(): number {
    return this.#leads.size;
  }

  clear(): void {
    this.#leads.clear();
  }

  #note(subject: string, { slot, tenure }: Lead): void {
    this.#leads.set(subject, { slot, tenure });
    if (this.#leads.size <= this.#capacity * 2) return;
    for (const [name, lead] of this.#leads) {
      if (this.#leadOf(lead.slot).tenure !== lead.tenure) this.#leads.delete(name);
    }
  }
}

function isSurelyMore(one: Lead, other: Lead): boolean {
  return one.packets - SURE_ERRORS * Math.sqrt(one.variance) > MORE * other.packets;
}
