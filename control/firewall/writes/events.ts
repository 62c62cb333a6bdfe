import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';

/** Events of an address: the log line and the metric of a write together. */
export interface FirewallEvents {
  addressChanged(event: WriteEvent): void;
}

export interface WriteEvent {
  readonly organisation: string;
  readonly ip: string;
  readonly generation: number;
  readonly requestId: string;
  /** As in the audit trail: `rule.create`. */
  readonly cause: string;
  readonly rulesCreated: number;
  readonly rulesDeleted: number;
  readonly filtersCreated: number;
  readonly filtersDeleted: number;
}

export function createFirewallEvents(registry: Registry, log: Logger): FirewallEvents {
  const objects = new Counter({
    name: 'portcullis_firewall_objects_total',
    help: 'Rules and filters written by callers, by kind and change.',
    labelNames: ['kind', 'change'],
    registers: [registry],
  });
  return {
    addressChanged(event) {
      objects.inc({ kind: 'rule', change: 'created' }, event.rulesCreated);
      objects.inc({ kind: 'rule', change: 'deleted' }, event.rulesDeleted);
      objects.inc({ kind: 'filter', change: 'created' }, event.filtersCreated);
      objects.inc({ kind: 'filter', change: 'deleted' }, event.filtersDeleted);
      log.info(event, 'address changed');
    },
  };
}
