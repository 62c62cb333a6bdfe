import type { Db } from '../../db/database.ts';
import type { MitigationEvents } from '../mitigations/events.ts';
import { makeCall } from './call.ts';
import { claimCalls, type DueCall, giveBack, saveResult } from './store.ts';

export interface CallsOptions {
  readonly db: Db;
  readonly events: Pick<MitigationEvents, 'called' | 'failed'>;
  /** How often it is looked whether a call is due; default 500 ms. */
  readonly everyMs?: number;
}
export interface Calls {
  /** Ends calls under way; they are made again by whoever comes next. */
  stop(): Promise<void>;
}

const EVERY_MS = 500;
/** One that hangs must not keep the others waiting. */
const AT_A_TIME = 4;

/** Makes the calls that are due, as long as it runs. */
export function startCalls({ db, events, everyMs = EVERY_MS }: CallsOptions): Calls {
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();

  const run = async (due: DueCall): Promise<void> => {
    try {
      const result = await makeCall(due.spec, due.body, stopping.signal);
      if (stopping.signal.aborted && !result.succeeded) return await giveBack(db, due);
      const settled = await saveResult(db, due, result);
      events.called(due.responder, due.body.event, result, settled);
    } catch (error) {
      events.failed(`calling the responder ${due.responder}`, error);
    }
  };
  const look = async (): Promise<void> => {
    try {
      for (const due of await claimCalls(db, AT_A_TIME - underWay.size)) {
        const call = run(due).finally(() => underWay.delete(call));
        underWay.add(call);
      }
    } catch (error) {
      events.failed('looking for responders to call', error);
    }
    arm();
  };
  const arm = (): void => {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => {
      looking = look();
    }, everyMs);
  };
  arm();
  return {
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await looking;
      await Promise.all(underWay);
    },
  };
}
