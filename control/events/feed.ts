import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../db/database.ts';
import { type Cursor, loadEvents, newestCursor, type StoredEvent } from './store.ts';
import { cursorText, formatEvent } from './text.ts';

/** Reads events once for all streams of this process, and serialises each once. */
export interface EventFeed {
  /** Called on a notification of `portcullis_events`, and after notifications were lost. */
  wake(): void;
  /**
   * The text of events after a cursor, for ever, of one organisation or of all with null. Ends when `ending` is
   * aborted, and aborts it when the reader is more than 256 kB behind.
   */
  follow(of: Following): AsyncGenerator<string, void>;
}

interface Following {
  readonly organisationId: number | null;
  readonly sees: (event: StoredEvent) => boolean;
  /** Null: from now on. */
  readonly after: Cursor | null;
  readonly ending: AbortController;
}

interface ReadyEvent extends StoredEvent {
  readonly text: string;
}

const BATCH = 500;
/** How often a comment shows that the connection lives, and how often events are read without a notification. */
const IDLE_MS = 15_000;
/** How soon events of a transaction that waits for an older one are read. */
const RETRY_MS = 50;
/** Events of this time are sent together: one write a stream instead of one an event. */
const GATHER_MS = 100;
const MAX_PENDING_BYTES = 256 * 1024;

export function createEventFeed(db: Db): EventFeed {
  const subscribers = new Set<Subscriber>();
  const alarm = new Alarm();
  /** Resolves when the running tail has its cursor; null without a tail. */
  let tail: Promise<void> | null = null;

  /** Reads new events for all subscribers until the last one leaves. */
  async function runTail(onStarted: () => void): Promise<void> {
    try {
      let cursor = await newestCursor(db);
      onStarted();
      while (subscribers.size > 0) {
        const before = alarm.count;
        const { events, isWaiting } = await loadEvents(db, cursor, null, BATCH);
        cursor = events.at(-1) ?? cursor;
        const ready = events.map((event) => ({ ...event, text: formatEvent(event) }));
        for (const subscriber of subscribers) subscriber.push(ready);
        if (events.length > 0) await delay(GATHER_MS);
        else if (alarm.count === before) await alarm.wait(isWaiting ? RETRY_MS : IDLE_MS);
      }
    } finally {
      tail = null;
    }
  }

  /** Events committed after this resolves reach the subscriber. */
  async function subscribe(subscriber: Subscriber): Promise<void> {
    subscribers.add(subscriber);
    tail ??= new Promise((resolve, reject) => {
      runTail(resolve).catch((error: unknown) => {
        // Each stream reads from the database when its caller connects again.
        for (const each of subscribers) each.fail();
        reject(error);
      });
    });
    await tail;
  }

  function unsubscribe(subscriber: Subscriber): void {
    subscribers.delete(subscriber);
    if (subscribers.size === 0) alarm.ring();
  }

  return {
    wake: () => alarm.ring(),
    async *follow(of) {
      const start = of.after ?? (await newestCursor(db));
      // Most of a long backlog is read before anything is kept in memory for the stream.
      const cursor = yield* readBacklog(db, start, of);
      const subscriber = new Subscriber(of);
      try {
        await subscribe(subscriber);
        yield* subscriber.follow(yield* readBacklog(db, cursor, of));
      } finally {
        unsubscribe(subscriber);
      }
    },
  };
}

/** Reads what is committed after a cursor; returns the cursor after it. */
async function* readBacklog(
  db: Db,
  after: Cursor,
  { organisationId, sees, ending }: Following,
): AsyncGenerator<string, Cursor> {
  let cursor = after;
  while (!ending.signal.aborted) {
    const { events } = await loadEvents(db, cursor, organisationId, BATCH);
    const last = events.at(-1);
    if (last === undefined) break;
    cursor = last;
    yield events.filter(sees).map(formatEvent).join('') || idLine(last);
  }
  return cursor;
}

/** Advances the cursor of a reader that sees none of the events, so that a resume does not read them again. */
function idLine(event: StoredEvent): string {
  return `id: ${cursorText(event)}\n\n`;
}

/** The events of one stream that its reader has not taken yet. */
class Subscriber {
  readonly #of: Following;
  readonly #alarm = new Alarm();
  #pending: ReadyEvent[] = [];
  #bytes = 0;

  constructor(of: Following) {
    this.#of = of;
  }

  push(events: readonly ReadyEvent[]): void {
    const { organisationId, sees, ending } = this.#of;
    const isBehind = this.#pending.length > 0;
    for (const event of events) {
      if (organisationId !== null && event.organisationId !== organisationId) continue;
      const text = sees(event) ? event.text : '';
      this.#pending.push(text === '' ? { ...event, text } : event);
      this.#bytes += text.length;
    }
    if (isBehind && this.#bytes > MAX_PENDING_BYTES) ending.abort();
    if (this.#pending.length > 0) this.#alarm.ring();
  }

  fail(): void {
    this.#of.ending.abort();
  }

  async *follow(after: Cursor): AsyncGenerator<string, void> {
    const { signal } = this.#of.ending;
    const onAbort = (): void => this.#alarm.ring();
    signal.addEventListener('abort', onAbort, { once: true });
    while (!signal.aborted) {
      if (this.#pending.length === 0) await this.#alarm.wait(IDLE_MS);
      if (signal.aborted) return;
      // The backlog may have had the first ones already.
      const events = this.#pending.filter((event) => isAfter(event, after));
      const isIdle = this.#pending.length === 0;
      this.#pending = [];
      this.#bytes = 0;
      const last = events.at(-1);
      if (last !== undefined) yield events.map(({ text }) => text).join('') || idLine(last);
      else if (isIdle) yield ': idle\n\n';
    }
  }
}

function isAfter(event: Cursor, after: Cursor): boolean {
  if (event.transaction === after.transaction) return event.id > after.id;
  return BigInt(event.transaction) > BigInt(after.transaction);
}

/** Wakes those that wait. */
class Alarm {
  readonly #waiting = new Set<() => void>();
  count = 0;

  ring(): void {
    this.count++;
    for (const done of this.#waiting) done();
  }

  /** Resolves on the next ring, or after `ms`. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
    });
  }
}
