/** The smallest change from what is there to what is wanted. */
export interface Difference<Wanted, Stored> {
  readonly created: readonly Wanted[];
  readonly deleted: readonly Stored[];
  /** Pairs that are equal by their identity, and may differ in their marks. */
  readonly kept: readonly Kept<Wanted, Stored>[];
}

export interface Kept<Wanted, Stored> {
  readonly stored: Stored;
  readonly wanted: Wanted;
}

/** Compares rules or filters by an identity, each list in its own order. */
export function difference<Identified, Wanted extends Identified, Stored extends Identified>(
  there: readonly Stored[],
  wanted: readonly Wanted[],
  identity: (object: Identified) => string,
): Difference<Wanted, Stored> {
  const known = new Map(there.map((object) => [identity(object), object]));
  const named = new Set(wanted.map(identity));
  const created: Wanted[] = [];
  const kept: Kept<Wanted, Stored>[] = [];
  for (const object of wanted) {
    const stored = known.get(identity(object));
    if (stored === undefined) created.push(object);
    else kept.push({ stored, wanted: object });
  }
  return { created, deleted: there.filter((object) => !named.has(identity(object))), kept };
}

/** Whether a difference creates or deletes something. */
export function isDifferent({ created, deleted }: Difference<unknown, unknown>): boolean {
  return created.length + deleted.length > 0;
}
