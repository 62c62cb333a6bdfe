import type { FilterSettings } from '@portcullis/core/filters/settings.ts';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import type { ServerPort } from '@portcullis/core/game-servers/power.ts';
import type { SftpOfNode } from '@portcullis/link/messages/sftp.ts';

/**
 * The types of columns whose SQL type says too little: documents in jsonb, and text with a meaning. The tables are in
 * generated/tables.ts, made by `npm run build:tables` from a migrated database and `ColumnTypes` below.
 */

/** The owner of an object: the fleet file, or portal and CLI. */
export type Owner = 'fleet' | 'portal';
export type RuleAction = 'allow' | 'deny';
export type RuleProtocol = 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
export type ActorKind = 'key' | 'user' | 'operator' | 'fleet' | 'system';
export type BuildState = 'waiting' | 'building' | 'built' | 'failed';
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'skipped';

/** A filter that a service manages itself; `ports` null: those of its game servers. */
export interface ManagedFilter {
  readonly type: string;
  readonly ports: string | null;
}

/** An exporter of a collector, with the sampling rate for exports without one. */
export interface CollectorExporter {
  readonly ip: string;
  readonly samplingRate: number | null;
  /** The networks that it may report. */
  readonly prefixes: readonly string[] | 'all';
}

export interface EdgeManagement {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

/** The responders: programs and webhooks for attacks. */
export interface ResponderSpec {
  readonly call: /** The program's absolute path and its arguments; no shell reads them. */
    | { readonly kind: 'command'; readonly command: readonly string[] }
    /** Null: no Authorization header. */
    | { readonly kind: 'webhook'; readonly url: string; readonly secret: string | null };
  /** Only attacks inside these prefixes. Null: all. */
  readonly prefixes: readonly string[] | null;
  /** Only attacks with a peak above one of these. Null: all. */
  readonly pps: number | null;
  readonly mbps: number | null;
  /** The timeout of a call. */
  readonly timeoutSeconds: number;
  /** Withdrawn after this time. */
  readonly expiresSeconds: number;
}

/** An attempt, in the names of the interface. */
export interface LoggedAttempt {
  readonly at: string;
  readonly duration_ms: number;
  /** Null: there was no answer. */
  readonly response_status: number | null;
  /** Null: it succeeded. */
  readonly error: string | null;
}

/** The documents and texts of columns, by `table.column`. */
export interface ColumnTypes {
  'organisations.detection': Partial<ScopeSettings>;
  'services.managed_filters': ManagedFilter[];
  'services.detection': Partial<ScopeSettings>;
  'filters.settings': FilterSettings;
  'holdings.detection': Partial<ScopeSettings>;
  'audit.actor_kind': ActorKind;
  'audit.detail': Record<string, unknown>;
  'idempotency_keys.headers': Record<string, string>;
  'default_actions.action': DefaultAction;
  'nodes.engine': object;
  'nodes.sftp': SftpOfNode;
  'eggs.egg': object;
  'game_servers.variables': Record<string, string>;
  'game_servers.ports': readonly ServerPort[];
  'edges.management': EdgeManagement[];
  'edges.report': object;
  'events.data': Record<string, unknown>;
  'drop_counts.dropped_by': 'xdp' | 'nftables';
  'drop_samples.dropped_by': 'xdp' | 'nftables';
  'collectors.exporters': CollectorExporter[];
  'collectors.report': object;
  'mitigations.countermeasure': MitigationAction;
  'responders.spec': ResponderSpec;
  'responder_runs.spec': ResponderSpec;
  'webhook_deliveries.log': LoggedAttempt[];
}
