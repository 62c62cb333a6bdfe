/** What a view is made of: what the database said of an address, not read yet, and the limits shown beside it. */
export interface ViewSource {
  readonly rulesJson: string;
  readonly filtersJson: string;
  readonly limits: string;
}

interface Remembered extends ViewSource {
  readonly view: object;
}

/** Of texts and views together, roughly; a view with its bytes weighs about five times its text. */
const MAX_TEXT = 4 * 1024 * 1024;

/**
 * Views of the addresses that were read last. The database is asked every time; only where it says exactly
 * what it said before is the view not made again (and, being the same object, not serialised again). Scripts
 * and portals poll the same addresses, and most answers are the same.
 */
export class ViewMemory {
  readonly #views = new Map<string, Remembered>();
  #text = 0;

  /** `key` names the address and who reads it. */
  view(key: string, source: ViewSource, make: () => object): object {
    const known = this.#views.get(key);
    if (known !== undefined) {
      this.#forget(key, known);
      if (isSame(known, source)) return this.#remember(key, known).view;
    }
    const { rulesJson, filtersJson, limits } = source;
    return this.#remember(key, { rulesJson, filtersJson, limits, view: make() }).view;
  }

  #remember(key: string, entry: Remembered): Remembered {
    this.#views.set(key, entry);
    this.#text += weightOf(entry);
    for (const [oldest, other] of this.#views) {
      if (this.#text <= MAX_TEXT) break;
      this.#forget(oldest, other);
    }
    return entry;
  }

  #forget(key: string, entry: Remembered): void {
    this.#views.delete(key);
    this.#text -= weightOf(entry);
  }
}

function isSame(known: ViewSource, source: ViewSource): boolean {
  return (
    known.limits === source.limits &&
    known.rulesJson === source.rulesJson &&
    known.filtersJson === source.filtersJson
  );
}

/** The constant stands for everything that an entry has beside its texts. */
function weightOf(entry: ViewSource): number {
  return entry.rulesJson.length + entry.filtersJson.length + 512;
}
