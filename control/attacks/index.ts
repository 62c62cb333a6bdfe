import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Db } from '../db/database.ts';
import { type AttackHandlers, createHandlers } from './handlers.ts';
import { createMitigationEvents } from './mitigations/events.ts';
import { type Mitigations, startMitigations } from './mitigations/index.ts';
import { startCalls } from './responders/calls.ts';
import { createWatching, type Watching } from './watch/index.ts';

export { cancelIn } from './mitigations/cancel.ts';
export { sweepAttacks } from './retention.ts';

export interface AttackDeps {
  readonly db: Db;
  /** Base of the links in pages, without a trailing slash. */
  readonly publicUrl: string;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Attacks: how they are recorded, what is done against them, and what callers see of them. */
export interface Attacks {
  readonly handlers: AttackHandlers;
  /** What is measured becomes records. */
  readonly watching: Watching;
  /** Once the database is there: what edges do, and whom we call beside them. */
  startMitigations(): Mitigations;
}

export function createAttacks({ db, publicUrl, registry, log }: AttackDeps): Attacks {
  const events = createMitigationEvents(log, registry);
  return {
    handlers: createHandlers({ publicUrl }),
    watching: createWatching({ db, log, registry }),
    startMitigations() {
      const mitigations = startMitigations({ db, events });
      const calls = startCalls({ db, events });
      return {
        onAttack: (heard) => mitigations.onAttack(heard),
        wake: () => mitigations.wake(),
        async stop() {
          await Promise.all([mitigations.stop(), calls.stop()]);
        },
      };
    },
  };
}
