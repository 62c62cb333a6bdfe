import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { Responded } from './respond.ts';

/** What happens to mitigations: each function writes its log line and its metric together. */
export interface MitigationEvents {
  /** A generation has what is done against an attack from now on. */
  responded(responded: Responded): void;
  /** The first enforcing edge has it in its kernel. */
  mitigated(attackId: number): void;
  failed(what: string, error: unknown): void;
}

export function createMitigationEvents(log: Logger, registry: Registry): MitigationEvents {
  const registers = [registry];
  const changes = new Counter({
    name: 'portcullis_mitigation_changes_total',
    help: 'Times that what is done against an attack changed',
    labelNames: ['kind'] as const,
    registers,
  });
  const mitigated = new Counter({
    name: 'portcullis_attacks_mitigated_total',
    help: 'Attacks whose mitigation an enforcing edge has confirmed',
    registers,
  });
  const failures = new Counter({
    name: 'portcullis_mitigation_failures_total',
    help: 'Times that mitigating failed; it is tried again',
    registers,
  });
  return {
    responded({ attackId, subject, generation, actions }) {
      changes.inc({ kind: actions > 0 ? 'mitigate' : 'withdraw' });
      const what = actions > 0 ? 'an attack is to be mitigated' : 'mitigations are withdrawn';
      log.info({ attackId, subject, generation, actions }, what);
    },
    mitigated(attackId) {
      mitigated.inc();
      log.info({ attackId }, 'an attack is mitigated');
    },
    failed(what, error) {
      failures.inc();
      log.error({ error }, `${what} failed`);
    },
  };
}
