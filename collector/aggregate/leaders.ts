/** How much more another must tell of a subject, lately and surely, to count instead. */
const MORE = 1.25;
const SURE_ERRORS = 3;

/** What one observer has told of a subject lately. */
export interface Lead {
  readonly slot: number;
  /** Of the slot: who has it next has another. */
  readonly tenure: number;
  readonly packets: number;
  readonly variance: number;
}

/**
 * Who of several observers that see the same packets counts for a subject: always the same one, for their exports are
 * of other moments, and the most of each moment would be more than there was. Another counts when what it tells has
 * long been more.
 */
export class Leaders {
  readonly #leads = new Map<string, Pick<Lead, 'slot' | 'tenure'>>();
  readonly #leadOf: (slot: number) => Lead;
  readonly #capacity: number;

  constructor(capacity: number, leadOf: (slot: number) => Lead) {
    this.#capacity = capacity;
    this.#leadOf = leadOf;
  }

  /** Of the slots that observers have for a subject and in which something came, the one that counts; null: none. */
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
