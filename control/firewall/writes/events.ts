import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';

/** Events of an address: each function writes its log line and its metric together. */
export interface FirewallEvents {
  rulesCreated(event: WriteEvent & { readonly created: number; readonly failed: number }): void;
  rulesDeleted(event: WriteEvent & { readonly deleted: number }): void;
  filtersCreated(event: WriteEvent & { readonly created: number }): void;
  filtersDeleted(event: WriteEvent & { readonly deleted: number }): void;
  addressReplaced(event: WriteEvent & { readonly created: number; readonly deleted: number }): void;
  portFailed(event: {
    readonly ip: string;
    readonly port: number | null;
    readonly error: unknown;
  }): void;
}

export interface WriteEvent {
  readonly organisation: string;
  readonly ip: string;
  readonly generation: number;
  readonly requestId: string;
}

export function createFirewallEvents(registry: Registry, log: Logger): FirewallEvents {
  const objects = new Counter({
    name: 'portcullis_firewall_objects_total',
    help: 'Rules and filters written by callers, by kind and change.',
    labelNames: ['kind', 'change'],
    registers: [registry],
  });
  const failures = new Counter({
    name: 'portcullis_firewall_port_failures_total',
    help: 'Ports of a rule creation that could not be stored.',
    registers: [registry],
  });
  const count = (kind: 'rule' | 'filter' | 'object', change: 'created' | 'deleted', by: number) =>
    objects.inc({ kind, change }, by);
  return {
    rulesCreated(event) {
      count('rule', 'created', event.created);
      log.info(event, 'rules created');
    },
    rulesDeleted(event) {
      count('rule', 'deleted', event.deleted);
      log.info(event, 'rules deleted');
    },
    filtersCreated(event) {
      count('filter', 'created', event.created);
      log.info(event, 'filters created');
    },
    filtersDeleted(event) {
      count('filter', 'deleted', event.deleted);
      log.info(event, 'filters deleted');
    },
    addressReplaced(event) {
      count('object', 'created', event.created);
      count('object', 'deleted', event.deleted);
      log.info(event, 'address replaced');
    },
    portFailed(event) {
      failures.inc();
      log.error(event, 'a port of a rule creation could not be stored');
    },
  };
}
