import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { ReportedAttack } from '../record/plan.ts';

export type WatchRefusal = 'not_held' | 'not_served' | 'too_old';

/** A refused part of an agent's samples. */
export interface Refused {
  readonly from: AgentRef;
  readonly what: 'samples' | 'attacks';
  readonly why: WatchRefusal;
  readonly count: number;
  /** An example. */
  readonly first: string;
}

type Recorded = Pick<ReportedAttack, 'attackId' | 'kind'> & {
  readonly attack: Pick<ReportedAttack['attack'], 'subject' | 'type'>;
};

/** Events of detection: each function writes its log line and its metric together. */
export interface WatchEvents {
  /** An attack was recorded. */
  recorded(reported: Recorded): void;
  /** Logged once a minute per agent and reason, because samples arrive several times a second. */
  refused(refused: Refused): void;
  /** The detection lease moved to or from this replica. */
  leads(isMine: boolean): void;
  failed(what: string, error: unknown): void;
}

const REFUSALS_LOGGED_MS = 60_000;

export function createWatchEvents(log: Logger, registry: Registry): WatchEvents {
  const registers = [registry];
  const recorded = new Counter({
    name: 'portcullis_attacks_recorded_total',
    help: 'What was recorded of attacks: opened, changed, ended, continued',
    labelNames: ['kind'] as const,
    registers,
  });
  const refusals = new Counter({
    name: 'portcullis_watch_refusals_total',
    help: 'Samples and attacks that agents reported and that were refused',
    labelNames: ['agent', 'what', 'why'] as const,
    registers,
  });
  const leading = new Gauge({
    name: 'portcullis_detector_leader',
    help: '1 where this control plane runs the detector, 0 where it passes samples on',
    registers,
  });
  const loggedMs = new Map<string, number>();
  return {
    recorded({ attackId, kind, attack: { subject, type } }) {
      recorded.inc({ kind });
      log.info({ attackId, subject, type }, `an attack: ${kind}`);
    },
    refused({ from, what, why, count, first }) {
      const agent = `${from.kind}/${from.name}`;
      refusals.inc({ agent, what, why }, count);
      const key = `${agent} ${what} ${why}`;
      const nowMs = performance.now();
      if (nowMs - (loggedMs.get(key) ?? -Infinity) < REFUSALS_LOGGED_MS) return;
      loggedMs.set(key, nowMs);
      log.warn({ agent, what, why, count, first }, 'a report of an agent is refused');
    },
    leads(isMine) {
      leading.set(isMine ? 1 : 0);
      const who = isMine ? 'this control plane' : 'another control plane';
      log.info(`${who} runs the detector from now on`);
    },
    failed: (what, error) => log.error({ error }, `${what} failed; it is tried again`),
  };
}
