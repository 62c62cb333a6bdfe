/** A peer of a Unix socket: the uid of its process. Null if the system cannot tell. */
export type PeerUid = number | null;

/** Pending connections of one account without an admitted agent. */
const UNAUTHENTICATED_LIMIT = 16;
/** Pending connections of all accounts without an admitted agent. */
const ALL_UNAUTHENTICATED_LIMIT = 128;
/** Pending connections of one account with an admitted agent, of root, and of the account of control. */
const KNOWN_LIMIT = 256;

/**
 * The connections that are not admitted yet. Above a limit, the oldest one of the account with the most is closed. An
 * agent greets at once, so it is admitted before others push it out; and no account pushes out those of an account that
 * has an agent, so that these always reconnect.
 */
export class PendingConnections<T> {
  readonly #pending = new Map<T, PeerUid>();
  /** Admitted connections by account. */
  readonly #admitted = new Map<PeerUid, number>();
  readonly #trusted: ReadonlySet<PeerUid>;

  constructor(trusted: readonly PeerUid[]) {
    this.#trusted = new Set(trusted);
  }

  /** Returns the connection to close instead, if a limit is exceeded. */
  add(connection: T, peer: PeerUid): T | null {
    this.#pending.set(connection, peer);
    const known = this.#isKnown(peer);
    const own = this.#of((uid) => uid === peer);
    if (own.length > (known ? KNOWN_LIMIT : UNAUTHENTICATED_LIMIT)) return own[0] ?? null;
    if (known) return null;
    const unknown = this.#of((uid) => !this.#isKnown(uid));
    return unknown.length > ALL_UNAUTHENTICATED_LIMIT ? this.#oldestOfMost(unknown) : null;
  }

  /** Returns a function that takes note of the end of the admitted connection. */
  admit(connection: T): () => void {
    const peer = this.#pending.get(connection) ?? null;
    this.#pending.delete(connection);
    this.#admitted.set(peer, (this.#admitted.get(peer) ?? 0) + 1);
    return () => {
      const left = (this.#admitted.get(peer) ?? 1) - 1;
      if (left > 0) this.#admitted.set(peer, left);
      else this.#admitted.delete(peer);
    };
  }

  remove(connection: T): void {
    this.#pending.delete(connection);
  }

  #isKnown(peer: PeerUid): boolean {
    return this.#trusted.has(peer) || this.#admitted.has(peer);
  }

  /** Oldest first. */
  #of(matches: (peer: PeerUid) => boolean): T[] {
    return [...this.#pending].flatMap(([connection, peer]) => (matches(peer) ? connection : []));
  }

  #oldestOfMost(connections: readonly T[]): T | null {
    const groups = Map.groupBy(connections, (one) => this.#pending.get(one) ?? null);
    const [most] = [...groups.values()].toSorted((a, b) => b.length - a.length);
    return most?.[0] ?? null;
  }
}
