import type { Db } from '../db/database.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { createEventFeed } from './feed.ts';
import { streamEvents } from './stream.ts';

export { sweepEvents } from './store.ts';

/** Events that happens, as a stream. */
export interface Events {
  readonly handlers: Pick<Handlers, 'streamEvents'>;
  /** Called on a notification of `portcullis_events`. */
  wake(): void;
}

export function createEvents({ db }: { readonly db: Db }): Events {
  const feed = createEventFeed(db);
  return {
    handlers: {
      streamEvents: (call, ending) => streamEvents({ db, feed }, call.by, call.lastEventId, ending),
    },
    wake: () => feed.wake(),
  };
}
