import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Db } from '../../db/database.ts';
import { createMitigationEvents } from './mitigations/events.ts';
import { type Mitigations, startMitigations } from './mitigations/mitigations.ts';
import { startCalls } from './responders/calls.ts';

export { cancelIn } from './mitigations/cancel.ts';

export interface ResponseDeps {
  readonly db: Db;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Starts mitigations and the calls of responders once the database is available. */
export function startResponse({ db, registry, log }: ResponseDeps): Mitigations {
  const events = createMitigationEvents(log, registry);
  const calls = startCalls({ db, events });
  const mitigations = startMitigations({ db, events, onCalls: () => calls.wake() });
  return {
    onAttack: (reported) => mitigations.onAttack(reported),
    wake() {
      mitigations.wake();
      calls.wake();
    },
    async stop() {
      await Promise.all([mitigations.stop(), calls.stop()]);
    },
  };
}
