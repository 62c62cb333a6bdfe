/** The source of a view: unparsed texts from the database, and the limits shown with them. */
export interface ViewSource {
  readonly rulesJson: string;
  readonly filtersJson: string;
  readonly limits: string;
}

interface CachedView extends ViewSource {
  readonly view: object;
}

/** The limit of cached text; a view with its bytes takes about five times its text. */
const MAX_TEXT = 4 * 1024 * 1024;

/**
 * Cache of the views of recently read addresses. Every read queries the database; when it returns the same texts, the
 * view is neither built nor serialised again. Scripts and portals poll the same addresses, mostly without changes.
 */
export class ViewCache {
  readonly #views = new Map<string, CachedView>();
  #text = 0;

  /** `key` identifies the address and the organisation. */
  view(key: string, source: ViewSource, make: () => object): object {
    const known = this.#views.get(key);
    if (known !== undefined) {
      this.#forget(key, known);
      if (isSame(known, source)) return this.#remember(key, known).view;
    }
    const { rulesJson, filtersJson, limits } = source;
    return this.#remember(key, { rulesJson, filtersJson, limits, view: make() }).view;
  }

  #remember(key: string, entry: CachedView): CachedView {
    this.#views.set(key, entry);
    this.#text += weightOf(entry);
    for (const [oldest, other] of this.#views) {
      if (this.#text <= MAX_TEXT) break;
      this.#forget(oldest, other);
    }
    return entry;
  }

  #forget(key: string, entry: CachedView): void {
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

/** The constant estimates the rest of an entry. */
function weightOf(entry: ViewSource): number {
  return entry.rulesJson.length + entry.filtersJson.length + 512;
}
