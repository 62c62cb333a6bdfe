import type { Marks } from './content.ts';

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

/**
 * The pairs that get other marks, with those that they get. A ref that another wanted object names is taken from the one
 * that has it.
 */
export function changedMarks<Wanted extends Partial<Marks>, Stored extends Marks>(
  kept: readonly Kept<Wanted, Stored>[],
  wanted: readonly Partial<Marks>[],
): (Kept<Wanted, Stored> & { readonly marks: Marks })[] {
  const named = new Set(wanted.flatMap(({ ref }) => ref ?? []));
  return kept.flatMap((pair) => {
    const { stored } = pair;
    const ownRef = stored.ref !== null && named.has(stored.ref) ? null : stored.ref;
    const { ref = ownRef, expiresAt = stored.expiresAt, note = stored.note } = pair.wanted;
    const isSame =
      ref === stored.ref &&
      expiresAt?.getTime() === stored.expiresAt?.getTime() &&
      note === stored.note;
    return isSame
      ? []
      : [{ ...pair, marks: { ref, expiresAt, ...(note !== undefined && { note }) } }];
  });
}
