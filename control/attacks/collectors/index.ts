import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { isRequestOf } from '@portcullis/link/messages/messages.ts';
import type { Admit, AgentHandler, ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Db } from '../../db/database.ts';
import type { DetectionService } from '../../agents/detection-service.ts';
import { admitAgent } from '../../agent-credential.ts';
import { registerCollectorGauges } from './gauges.ts';
import { createCollectorHandler } from './handler.ts';

export { type KnownCollector, loadCollectorStatuses } from './status.ts';

export interface CollectorDeps {
  readonly db: Db;
  readonly registry: Registry;
  readonly log: Logger;
  /** Receives the samples of collectors. */
  readonly watch: DetectionService;
}

/** Collectors: admission and requests. */
export interface Collectors {
  readonly agentHandler: AgentHandler;
  readonly admit: Admit;
}

/** Collectors changed. A null name means any. */
export function notifyCollectors(link: ControlSide, name: string | null): void {
  link.recheck((agent) => agent.kind === 'collector' && (name === null || agent.name === name));
  link.notify({ kind: 'collectors' });
}

export function createCollectors({ db, registry, log, watch }: CollectorDeps): Collectors {
  const failed = (what: string, error: unknown): void => log.error({ error, what }, 'failed');
  const answer = createCollectorHandler({ db, watch, failed });
  registerCollectorGauges(registry, db);
  return {
    async agentHandler(from, request) {
      if (from.kind !== 'collector' || !isRequestOf('collector', request)) {
        const detail = 'Only collectors are served here.';
        return { kind: 'refused', code: 'unsupported', detail };
      }
      return answer(from.name, request);
    },
    async admit({ kind, name }, credential) {
      if (kind !== 'collector') return { ok: false, reason: 'Only collectors are served here.' };
      return admitAgent(db, { kind, name }, credential);
    },
  };
}
