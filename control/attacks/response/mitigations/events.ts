import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { CallEvents } from '../responders/events.ts';
import type { Responded } from './respond.ts';

/** Events of mitigations: each function writes its log line and its metric together. */
export interface MitigationEvents extends CallEvents {
  /** A generation contains the mitigations of an attack. */
  responded(responded: Responded): void;
  /** The first enforcing edge has confirmed it. */
  mitigated(attackId: number): void;
}

export function createMitigationEvents(log: Logger, registry: Registry): MitigationEvents {
  const { changes, mitigated, calls, failures } = createCounters([registry]);
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
    called(responder, event, { succeeded, output }, outcome) {
      const ended = succeeded ? 'succeeded' : 'failed';
      calls.inc({ responder, event, outcome: outcome === 'superseded' ? outcome : ended });
      const fields = { responder, event, output };
      if (outcome === 'superseded')
        log.warn(fields, 'a call of a responder ended after its lease; the repeated one counts');
      else if (succeeded) log.info(fields, 'a responder was called');
      else if (outcome === 'settled')
        log.error(fields, 'a responder could not be called, and will not be called again');
      else log.warn(fields, 'a responder could not be called; it is tried again');
    },
    failed(what, error) {
      failures.inc();
      log.error({ error }, `${what} failed`);
    },
  };
}

function createCounters(registers: Registry[]) {
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
  const calls = new Counter({
    name: 'portcullis_responder_calls_total',
    help: 'Calls of responders beside the edges',
    labelNames: ['responder', 'event', 'outcome'] as const,
    registers,
  });
  const failures = new Counter({
    name: 'portcullis_mitigation_failures_total',
    help: 'Times that mitigating failed; it is tried again',
    registers,
  });
  return { changes, mitigated, calls, failures };
}
