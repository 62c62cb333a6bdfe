import { DEFAULT_THRESHOLDS, type Thresholds } from '@portcullis/core/attacks/attack.ts';
import { formatCidr } from '@portcullis/core/net/cidr.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import { MAX_SCOPES_PER_PAGE, type SettingsRequest } from '@portcullis/link/messages/attacks.ts';
import { type WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import { type AgentScope, loadEdgeScopes } from '../../../agents/scope.ts';
import type { Db } from '../../../db/database.ts';
import { keptDays } from '../record/partitions.ts';
import { WatchScopes } from './watch-scopes.ts';

const DAY_MS = 86_400_000;
/** The most JSON bytes of a page's scopes, to fit into a message. */
const PAGE_BYTES = 256_000;

/** The detection settings, as of the last query. */
export class ScopeTable {
  readonly #db: Db;
  readonly #known = new WatchScopes();
  /** Loads are serialised, because each continues where the last one ended. */
  #loading: Promise<unknown> = Promise.resolve();
  #edges: ReadonlyMap<string, AgentScope> = new Map();
  #keptDays = 0;

  constructor(db: Db) {
    this.#db = db;
  }

  get version(): string {
    return this.#known.version;
  }

  /** Agents may ask before the first query. */
  async ready(): Promise<void> {
    if (this.#known.version === '') await this.load();
  }

  /** Whether anything differs. */
  load(): Promise<boolean> {
    const loaded = this.#loading.then(() => this.#load());
    this.#loading = loaded.catch(() => {});
    return loaded;
  }

  async #load(): Promise<boolean> {
    const isOther = await this.#known.load(this.#db);
    this.#edges = await loadEdgeScopes(this.#db, this.#edges);
    this.#keptDays = await keptDays(this.#db);
    return isOther;
  }

  /** Older attacks are visible to nobody. */
  get keptMs(): number {
    return this.#keptDays * DAY_MS;
  }

  /** Null without a holding. */
  of(subject: string): WatchScope | null {
    return this.#known.of(subject);
  }

  /** Whether an edge of the fleet serves an address or a part of a prefix. */
  serves = (edge: string, subject: string): boolean =>
    this.#edges.get(edge)?.covers(subject) ?? false;

  /**
   * Whether an edge counts something of what it reports. Of a prefix that it serves in part it counts the addresses of
   * which that is the nearest subject: none where its part is somebody else's, who holds it more specifically.
   */
  isCountedBy(edge: string, subject: string): boolean {
    const parts = this.#edges.get(edge)?.partsOf(subject) ?? null;
    if (parts === null) return true;
    return (
      this.of(subject)?.scope === subject &&
      parts.some((part) => {
        const nearest = this.of(formatCidr(part));
        return nearest?.scope === subject || nearest?.subject === false;
      })
    );
  }

  thresholdsOf = (subject: string): Thresholds => this.of(subject) ?? DEFAULT_THRESHOLDS;

  /** A page of the settings; cursors are `VERSION@INDEX`. */
  page({ version, cursor }: SettingsRequest): ControlReply {
    const { version: current, scopes, cancelled } = this.#known;
    if (cursor === null && version === current) {
      return { kind: 'watch.settings', version: current, scopes: null, next: null };
    }
    const [of, index] = cursor?.split('@') ?? [];
    // A cursor of another version starts again.
    const begin = of === current && index !== undefined ? Number(index) : 0;
    let bytes = 0;
    const page: WatchScope[] = [];
    for (const scope of scopes.slice(begin, begin + MAX_SCOPES_PER_PAGE)) {
      bytes += JSON.stringify(scope).length;
      if (page.length > 0 && bytes > PAGE_BYTES) break;
      page.push(scope);
    }
    const end = begin + page.length;
    const next = end < scopes.length && page.length > 0 ? `${current}@${end}` : null;
    const settings = { kind: 'watch.settings', version: current, scopes: page, next } as const;
    return begin === 0 ? { ...settings, cancelled } : settings;
  }
}
