import type { Db } from '../../../db/database.ts';
import { type Outbox, startOutbox } from '../../../outbox/index.ts';
import { makeCall } from './call.ts';
import type { CallEvents } from './events.ts';
import { CALLS, claimCalls, type DueCall, saveResult } from './queue.ts';
import type { CallResult } from './result.ts';

export interface CallsOptions {
  readonly db: Db;
  readonly events: CallEvents;
  /** The longest time between looks for due calls; default 5 s. */
  readonly everyMs?: number;
}

const EVERY_MS = 5_000;
const AT_A_TIME = 256;

/** Makes due calls of responders until it is stopped. */
export function startCalls({ db, events, everyMs = EVERY_MS }: CallsOptions): Outbox {
  return startOutbox<DueCall, CallResult>(db, {
    table: CALLS,
    work: 'calls of responders',
    atATime: AT_A_TIME,
    longestWaitMs: everyMs,
    claim: (room) => claimCalls(db, room),
    async send({ spec, body }, signal) {
      const result = await makeCall(spec, body, signal);
      if (!result.succeeded) signal.throwIfAborted();
      return result;
    },
    async settle(due, result) {
      const outcome = await saveResult(db, due, result);
      events.called(due.responder, due.body.event, result, outcome);
    },
    failed: (what, error) => events.failed(what, error),
  });
}
