import type { DefaultAction } from '@portcullis/core/firewall/policy.ts';
import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { ColumnType, Generated, GeneratedAlways, Selectable } from 'kysely';
import type { AttackSchema } from './schema-attacks.ts';
import type { GameServerSchema } from './schema-game-servers.ts';
import type { MitigationSchema } from './schema-mitigations.ts';
import type { WebhookSchema } from './schema-webhooks.ts';

/**
 * The tables of migrations/, as kysely sees them; column names are those of the SQL.
 * bigint reads as number, timestamptz as Date (`infinity` as the last Date there is), and inet, cidr
 * and tstzrange as PostgreSQL's text: a cidr always with its length, a single inet without.
 */
export interface Schema extends AttackSchema, MitigationSchema, GameServerSchema, WebhookSchema {
  organisations: OrganisationTable;
  asns: AsnTable;
  services: ServiceTable;
  holdings: HoldingTable;
  api_keys: ApiKeyTable;
  fleet: FleetTable;
  generations: GenerationTable;
  changes: ChangeTable;
  addresses: AddressTable;
  rules: RuleTable;
  filters: FilterTable;
  groups: GroupTable;
  group_rules: GroupRuleTable;
  group_filters: GroupFilterTable;
  group_assignments: GroupAssignmentTable;
  geo_rules: GeoRuleTable;
  geo_assignments: GeoAssignmentTable;
  default_actions: DefaultActionTable;
  baseline_rules: BaselineRuleTable;
  edges: EdgeTable;
  edge_refusals: EdgeRefusalTable;
  drop_counts: DropCountTable;
  drop_samples: DropSampleTable;
  drop_reports: DropReportTable;
  collectors: CollectorTable;
  audit: AuditTable;
  events: EventTable;
  idempotency_keys: IdempotencyKeyTable;
}

/** The owner of an object: the fleet file, or portal and CLI. */
export type Owner = 'fleet' | 'portal';
export type RuleAction = 'allow' | 'deny';
export type RuleProtocol = 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
export type ActorKind = 'key' | 'user' | 'operator' | 'fleet' | 'system';

/** jsonb: written as JSON text, because the driver would make a PostgreSQL array of a JavaScript one. */
type Json<T> = ColumnType<T, string, string>;
type JsonWithDefault<T> = ColumnType<T, string | undefined, string>;
type Id = GeneratedAlways<number>;

export interface OrganisationTable {
  id: Id;
  slug: string;
  name: string;
  flags: Generated<string[]>;
  rules_per_ip: Generated<number>;
  filters_per_ip: Generated<number>;
  max_ports_per_request: Generated<number>;
  attack_history_days: Generated<number>;
  configured_addresses: Generated<number>;
  requests_per_minute: Generated<number>;
  detection: JsonWithDefault<Partial<ScopeSettings>>;
  owner: Owner;
  created_at: Generated<Date>;
}

export interface AsnTable {
  asn: number;
  organisation_id: number;
  owner: Owner;
}

/** A filter that a service manages itself; `ports` null: those of its game servers. */
export interface ManagedFilter {
  readonly type: string;
  readonly ports: string | null;
}

export interface ServiceTable {
  id: number;
  organisation_id: number;
  name: string;
  active: Generated<boolean>;
  managed_filters: JsonWithDefault<ManagedFilter[]>;
  detection: JsonWithDefault<Partial<ScopeSettings>>;
  owner: Owner;
}

export interface HoldingTable {
  id: Id;
  organisation_id: number;
  cidr: string;
  /** A tstzrange's text; query its ends with lower() and upper(). */
  during: string;
  asn: number | null;
  service_id: number | null;
  detection: JsonWithDefault<Partial<ScopeSettings>>;
  owner: Owner;
}

export interface ApiKeyTable {
  id: Id;
  organisation_id: number;
  name: string;
  secret_hash: Buffer;
  hint: string;
  abilities: string[];
  servers: string[] | null;
  managed_servers: string[] | null;
  prefixes: string[] | null;
  sources: string[] | null;
  expires_at: Date | null;
  revoked_at: Date | null;
  /** A key that left the fleet file. */
  suspended_at: Date | null;
  last_used_at: Date | null;
  created_at: Generated<Date>;
  owner: Owner;
}

/** An exporter of a collector, with the sampling rate for exports without one. */
export interface CollectorExporter {
  readonly ip: string;
  readonly samplingRate: number | null;
  /** The networks that it may report; null or absent: all. */
  readonly prefixes?: readonly string[] | null;
}

export interface CollectorTable {
  id: Id;
  name: string;
  listen: string;
  exporters: Json<CollectorExporter[]>;
  /** Null: the site of the first edge. */
  site: string | null;
  owner: Owner;
  credential_hash: Buffer | null;
  enrolled_at: Date | null;
  instance: string | null;
  last_seen_at: Date | null;
  /** As link/messages/collector.ts reads it. */
  report: Json<object> | null;
}

export interface FleetTable {
  one: Generated<boolean>;
  generation: Generated<number>;
  holdings_until: Generated<Date>;
}

export interface GenerationTable {
  generation: number;
  created_at: Generated<Date>;
  cause: string;
  live_at: Date | null;
}

export interface ChangeTable {
  generation: number;
  target: string;
}

export interface AddressTable {
  id: Id;
  holding_id: number;
  ip: string;
  configured: Generated<boolean>;
}

/** The generations of a firewall object. */
interface Generational {
  created_generation: number;
  created_at: Generated<Date>;
  deleted_generation: number | null;
  deleted_at: Date | null;
}

interface RuleColumns extends Generational {
  action: RuleAction;
  protocol: RuleProtocol;
  source: string | null;
  port: number | null;
}

/** Of a rule that names a port of a game server. */
interface NamedPortColumns {
  port_server: string | null;
  port_name: string | null;
}

export interface RuleTable extends RuleColumns, NamedPortColumns {
  id: Generated<number>;
  address_id: number;
  note: string | null;
  tags: Generated<string[]>;
}

export interface FilterTable extends Generational {
  id: Id;
  address_id: number;
  type: string;
  port: number;
}

export interface GroupTable {
  id: Id;
  organisation_id: number;
  name: string;
  owner: Owner;
  deleted_at: Date | null;
}

export interface GroupRuleTable extends RuleColumns, NamedPortColumns {
  id: Generated<number>;
  group_id: number;
}

export interface GroupFilterTable extends Generational {
  id: Id;
  group_id: number;
  type: string;
  port: number;
}

export interface GroupAssignmentTable extends Generational {
  id: Id;
  group_id: number;
  holding_id: number;
  target: string;
}

export interface GeoRuleTable extends Generational {
  id: Id;
  organisation_id: number;
  action: 'deny' | 'only';
  countries: Generated<string[]>;
  asns: Generated<number[]>;
  owner: Owner;
}

export interface GeoAssignmentTable extends Generational {
  id: Id;
  geo_rule_id: number;
  holding_id: number;
  target: string;
}

export interface DefaultActionTable extends Generational {
  id: Id;
  holding_id: number;
  target: string;
  action: DefaultAction;
  owner: Owner;
}

export interface BaselineRuleTable extends RuleColumns {
  id: Id;
  prefix: string;
}

export interface EdgeManagement {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

export interface EdgeTable {
  id: Id;
  name: string;
  site: string;
  devices: string[];
  serves: string[];
  sees: 'both' | 'inbound';
  fragments: 'reassemble' | 'limit';
  management: Json<EdgeManagement[]>;
  owner: Owner;
  enforcing_since: Date | null;
  credential_hash: Buffer | null;
  enrolled_at: Date | null;
  instance: string | null;
  mode: 'enforce' | 'observe' | null;
  mode_reason: string | null;
  last_seen_at: Date | null;
  confirmed_generation: Generated<number>;
  joins_at_generation: Generated<number>;
  in_service: Generated<boolean>;
  left_service_at: Date | null;
  /** The report of its last heartbeat; see link/messages/edge-report.ts. */
  report: Json<object> | null;
}

export interface EdgeRefusalTable {
  edge_id: number;
  target: string;
  reason: string;
  good_generation: number;
}

interface DropColumns {
  holding_id: number;
  edge_id: number;
  target: string;
  stage: string;
  reason: string;
  dropped_by: 'xdp' | 'nftables';
}

export interface DropCountTable extends DropColumns {
  minute: Date;
  packets: number;
  bytes: number;
}

export interface DropSampleTable extends DropColumns {
  id: Id;
  destination: string;
  at: Date;
  source: string;
  protocol: number;
  source_port: number | null;
  destination_port: number | null;
  length: number;
  device: string | null;
}

export interface DropReportTable {
  edge_id: number;
  instance: string;
  sequence: number;
}

export interface AuditTable {
  id: Id;
  at: Generated<Date>;
  organisation_id: number | null;
  actor_kind: ActorKind;
  actor: string;
  source: string | null;
  request_id: string | null;
  action: string;
  target: string;
  detail: JsonWithDefault<Record<string, unknown>>;
  generation: number | null;
}

export interface EventTable {
  id: Id;
  transaction: Generated<string>;
  at: Generated<Date>;
  organisation_id: number | null;
  kind: string;
  target: string;
  data: JsonWithDefault<Record<string, unknown>>;
}

export interface IdempotencyKeyTable {
  organisation_id: number;
  api_key_id: number;
  method: string;
  path: string;
  idempotency_key: string;
  body_hash: Buffer;
  status: number;
  headers: Json<Record<string, string>>;
  body: string;
  created_at: Generated<Date>;
}

export type Organisation = Selectable<OrganisationTable>;
export type ApiKey = Selectable<ApiKeyTable>;
