import type { EdgeChanges } from '@portcullis/link/messages/edge.ts';

/** A sync of everything may take a minute, in which each announcement brings one of these. */
const MOST_CHANGES = 200;

/**
 * Changes that arrive while a sync is under way, and begin after what the edge holds until it ends. The state that the sync
 * brings is one that they fit, so without them each of them would cause one more sync.
 */
export class MissedChanges {
  #kept: EdgeChanges[] | null = null;

  /** Begins to keep changes. The sync covers those from before. */
  begin(): void {
    this.#kept = [];
  }

  /** Returns false if they must be fetched: no sync is under way, or too many came meanwhile. */
  keep(changes: EdgeChanges): boolean {
    if (this.#kept === null || this.#kept.length >= MOST_CHANGES) return false;
    this.#kept.push(changes);
    return true;
  }

  /** Ends keeping, and returns what was kept, in the order of arrival. */
  end(): readonly EdgeChanges[] {
    const kept = this.#kept ?? [];
    this.#kept = null;
    return kept;
  }
}
