import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Db } from '../db/database.ts';
import { type AttackHandlers, createHandlers } from './handlers.ts';
import { createMitigationEvents } from '../response/mitigations/events.ts';
import { type Mitigations, startMitigations } from '../response/mitigations/mitigations.ts';
import { startCalls } from '../response/responders/calls.ts';
import { createWatching, type Watching } from '../detection/index.ts';

export { sweepAttacks } from '../detection/retention.ts';
export { loadSuggestions, suggestionView } from '../detection/suggestions.ts';

export interface AttackDeps {
  readonly db: Db;
  /** The base of links in pages, without a trailing slash. */
  readonly publicUrl: string;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Attacks: recording, mitigation and history. */
export interface Attacks {
  readonly handlers: AttackHandlers;
  /** The detector and the recorder. */
  readonly watching: Watching;
  /** Starts mitigations and responders once the database is available. */
  startMitigations(): Mitigations;
}

export function createAttacks({ db, publicUrl, registry, log }: AttackDeps): Attacks {
  const events = createMitigationEvents(log, registry);
  return {
    handlers: createHandlers({ publicUrl }),
    watching: createWatching({ db, log, registry }),
    startMitigations() {
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
    },
  };
}
