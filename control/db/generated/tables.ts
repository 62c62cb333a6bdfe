// Made by npm run build:tables from the migrations and ../schema.ts; do not edit.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';
import type { ColumnTypes } from '../schema.ts';

/** jsonb: written as JSON text, because the driver would make a PostgreSQL array of a JavaScript one. */
type Json<T> = ColumnType<T, string, string>;
type JsonWithDefault<T> = ColumnType<T, string | undefined, string>;

/** The tables of migrations/ in the names of the SQL. */
export interface Schema {
  accepted_traffic: {
    holding_id: number;
    target: string;
    detection: Json<unknown>;
    attack_id: number;
    accepted_by: string;
    accepted_at: Generated<Date>;
  };
  added_ports: {
    id: GeneratedAlways<number>;
    server: string;
    ip: string;
    port: number;
    protocols: string[];
    name: string | null;
    created_at: Generated<Date>;
  };
  addresses: {
    id: GeneratedAlways<number>;
    holding_id: number;
    ip: string;
    configured: Generated<boolean>;
  };
  api_keys: {
    id: GeneratedAlways<number>;
    organisation_id: number | null;
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
    suspended_at: Date | null;
    last_used_at: Date | null;
    created_at: Generated<Date>;
    owner: 'fleet' | 'portal';
  };
  asns: {
    asn: number;
    organisation_id: number | null;
    owner: 'fleet' | 'portal';
  };
  attack_drops: {
    attack_id: number;
    what: 'dropped' | 'observed';
    packets: number;
    bytes: number;
  };
  attack_evidence: {
    attack_id: number;
    opened_at: Date;
    evidence: Json<unknown>;
  };
  attack_responses: {
    attack_id: number;
    target: string;
    started_at: Date;
    facts: Json<unknown>;
    ended_at: Date | null;
    expires_at: Date;
    cancelled_at: Date | null;
    cancelled_by: string | null;
    mitigated_at: Date | null;
    closed_at: Date | null;
  };
  attack_revision: {
    one: Generated<boolean>;
    revision: Generated<number>;
    pruned_revision: Generated<number>;
    snapshot_key: Generated<string>;
  };
  attacks: {
    id: number;
    revision: number;
    until_revision: Generated<number>;
    superseded_at: Date | null;
    organisation_id: number | null;
    holding_id: number | null;
    subject: string;
    prefix: string;
    attack_type: string;
    peak_pps: number;
    peak_bps: number;
    started_at: Date;
    mitigated_at: Date | null;
    ended_at: Date | null;
    reported_as: string | null;
  };
  audit: {
    id: GeneratedAlways<number>;
    at: Generated<Date>;
    organisation_id: number | null;
    actor_kind: ColumnTypes['audit.actor_kind'];
    actor: string;
    source: string | null;
    request_id: string | null;
    action: string;
    target: string;
    detail: JsonWithDefault<ColumnTypes['audit.detail']>;
    generation: number | null;
  };
  baseline_rules: {
    id: GeneratedAlways<number>;
    prefix: string;
    action: 'allow' | 'deny';
    protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
    source: string | null;
    port: number | null;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
    owner: Generated<'fleet' | 'portal'>;
  };
  blocked_sources: {
    id: GeneratedAlways<number>;
    organisation_id: number;
    holding_id: number | null;
    target: string | null;
    source: string;
    note: Generated<string>;
    expires_at: Date | null;
    owner: 'fleet' | 'portal';
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  changes: {
    generation: number;
    target: string;
  };
  collectors: {
    id: GeneratedAlways<number>;
    name: string;
    listen: string;
    exporters: Json<ColumnTypes['collectors.exporters']>;
    site: string | null;
    owner: 'fleet' | 'portal';
    credential_hash: Buffer | null;
    enrolled_at: Date | null;
    nats_key: string | null;
    instance: string | null;
    last_seen_at: Date | null;
    report: Json<ColumnTypes['collectors.report']> | null;
  };
  credential_renewals: {
    kind: 'edge' | 'node' | 'collector';
    name: string;
    credential_hash: Buffer;
    nats_key: string;
    issued_at: Generated<Date>;
  };
  default_actions: {
    id: GeneratedAlways<number>;
    holding_id: number;
    target: string;
    action: ColumnTypes['default_actions.action'];
    owner: 'fleet' | 'portal';
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  deleted_server_people: {
    uuid: string;
    node_id: number;
    person_id: number;
    rights: string[];
    since: Date;
  };
  deleted_servers: {
    uuid: string;
    node_id: number;
    organisation: string;
    name: string;
    declared: Json<unknown>;
    external_id: string | null;
    build_epoch: number;
    deleted_at: Generated<Date>;
    purge_at: Date | null;
    made_by: number | null;
    by_maker: Generated<boolean>;
  };
  detection_changes: {
    transaction: Generated<string>;
    at: Generated<Date>;
    cidr: string | null;
    service_id: number | null;
    organisation_id: number | null;
  };
  detector_lease: {
    one: Generated<boolean>;
    holder: string | null;
    expires_at: Generated<Date>;
  };
  devices: {
    id: GeneratedAlways<number>;
    token_hash: Buffer;
    person_id: number;
    last_seen_at: Generated<Date>;
  };
  drop_counts: {
    holding_id: number;
    target: string;
    minute: Date;
    edge_id: number;
    stage: string;
    reason: string;
    dropped_by: ColumnTypes['drop_counts.dropped_by'];
    packets: number;
    bytes: number;
  };
  drop_reports: {
    edge_id: number;
    instance: string;
    sequence: number;
  };
  drop_samples: {
    id: GeneratedAlways<number>;
    holding_id: number;
    destination: string;
    at: Date;
    edge_id: number;
    target: string;
    stage: string;
    reason: string;
    dropped_by: ColumnTypes['drop_samples.dropped_by'];
    source: string;
    protocol: number;
    source_port: number | null;
    destination_port: number | null;
    length: number;
    device: string | null;
  };
  edge_refusals: {
    edge_id: number;
    target: string;
    reason: string;
    good_generation: number;
  };
  edges: {
    id: GeneratedAlways<number>;
    name: string;
    site: string;
    devices: string[];
    serves: string[];
    sees: 'both' | 'inbound';
    fragments: 'reassemble' | 'limit';
    management: Json<ColumnTypes['edges.management']>;
    owner: 'fleet' | 'portal';
    credential_hash: Buffer | null;
    enrolled_at: Date | null;
    nats_key: string | null;
    needs_whole_sync: Generated<boolean>;
    enforcing_since: Date | null;
    instance: string | null;
    mode: 'enforce' | 'observe' | 'no_device' | null;
    mode_reason: string | null;
    last_seen_at: Date | null;
    confirmed_generation: Generated<number>;
    joins_at_generation: Generated<number>;
    in_service: Generated<boolean>;
    left_service_at: Date | null;
    report: Json<ColumnTypes['edges.report']> | null;
    lacks_device: GeneratedAlways<boolean | null>;
    own_generation: Generated<number>;
    raised_generation: Generated<number>;
  };
  eggs: {
    digest: string;
    egg: Json<ColumnTypes['eggs.egg']>;
  };
  events: {
    id: GeneratedAlways<number>;
    transaction: Generated<string>;
    at: Generated<Date>;
    organisation_id: number | null;
    kind: string;
    target: string;
    data: JsonWithDefault<ColumnTypes['events.data']>;
  };
  filters: {
    id: GeneratedAlways<number>;
    address_id: number;
    type: string;
    port: number;
    settings: JsonWithDefault<ColumnTypes['filters.settings']>;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  fleet: {
    one: Generated<boolean>;
    generation: Generated<number>;
    holdings_until: Generated<Date>;
  };
  fleet_applies: {
    id: GeneratedAlways<number>;
    at: Generated<Date>;
    path: string;
    content: Buffer;
  };
  game_servers: {
    uuid: string;
    organisation_id: number;
    external_id: string | null;
    service_id: number;
    node_id: number;
    name: string;
    egg_digest: string;
    egg_name: string;
    image: string | null;
    variables: JsonWithDefault<ColumnTypes['game_servers.variables']>;
    memory_mib: number;
    cpu_percent: number;
    disk_mib: number;
    ip: string;
    port: number;
    ports: JsonWithDefault<ColumnTypes['game_servers.ports']>;
    open_while_running: Generated<boolean>;
    open_ports: string[] | null;
    suspended: Generated<boolean>;
    crash_restart: Generated<boolean>;
    crash_within_ms: Generated<number>;
    build_epoch: Generated<number>;
    build_state: Generated<'waiting' | 'building' | 'built' | 'failed'>;
    build_reason: string | null;
    build_log: string | null;
    provisioned: GeneratedAlways<boolean>;
    identifier: string | null;
    power_state: string | null;
    crashed_at_ms: number | null;
    owner: 'fleet' | 'portal';
    created_at: Generated<Date>;
    swap_mib: Generated<number>;
    start_with_host: Generated<'as_before' | 'always' | 'never'>;
    stop_seconds: number | null;
    crash_tries: Generated<number>;
    empty_files: 'bin' | 'delete' | null;
    set_by_people: Generated<string[]>;
    io_weight: Generated<number>;
    cores: string | null;
    oom_killer: Generated<boolean>;
    entry_limit: Generated<number>;
    port_limit: Generated<number>;
    docker_image: string | null;
    startup: string | null;
    mounts: Generated<string[]>;
    chosen_ip: string | null;
    chosen_port: number | null;
    restored_epoch: number | null;
    made_by: number | null;
  };
  generations: {
    generation: number;
    created_at: Generated<Date>;
    cause: string;
    live_at: Date | null;
    traceparent: Generated<string | null>;
    everywhere: Generated<boolean>;
  };
  geo_assignments: {
    id: GeneratedAlways<number>;
    geo_rule_id: number;
    holding_id: number;
    target: string;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  geo_rules: {
    id: GeneratedAlways<number>;
    organisation_id: number;
    action: 'deny' | 'only';
    countries: Generated<string[]>;
    asns: Generated<number[]>;
    owner: 'fleet' | 'portal';
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  group_assignments: {
    id: GeneratedAlways<number>;
    group_id: number;
    holding_id: number;
    target: string;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  group_filters: {
    id: GeneratedAlways<number>;
    group_id: number;
    type: string;
    port: number;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
    ref: string | null;
    expires_at: Date | null;
    note: string | null;
  };
  group_rules: {
    id: Generated<number>;
    group_id: number;
    action: 'allow' | 'deny';
    protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
    source: string | null;
    port: number | null;
    port_server: string | null;
    port_name: string | null;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
    ref: string | null;
    expires_at: Date | null;
    note: string | null;
  };
  groups: {
    id: GeneratedAlways<number>;
    organisation_id: number;
    name: string;
    owner: 'fleet' | 'portal';
    deleted_at: Date | null;
  };
  holdings: {
    id: GeneratedAlways<number>;
    organisation_id: number;
    cidr: string;
    during: string;
    asn: number | null;
    service_id: number | null;
    detection: JsonWithDefault<ColumnTypes['holdings.detection']>;
    owner: 'fleet' | 'portal';
  };
  idempotency_keys: {
    api_key_id: number;
    method: string;
    path: string;
    idempotency_key: string;
    body_hash: Buffer;
    status: number;
    headers: Json<ColumnTypes['idempotency_keys.headers']>;
    body: string;
    created_at: Generated<Date>;
  };
  join_hosts: {
    token_id: number;
    fingerprint: string;
    presented_from: string | null;
    presented_at: Generated<Date>;
  };
  join_tokens: {
    id: GeneratedAlways<number>;
    secret_hash: Buffer;
    kind: 'edge' | 'node' | 'collector';
    name: string;
    created_at: Generated<Date>;
    expires_at: Date;
    needs_approval: boolean;
    approved_at: Date | null;
    presented_from: string | null;
    used_at: Date | null;
    maker_id: number | null;
    maker_key_id: number | null;
    approved_fingerprint: string | null;
  };
  library_eggs: {
    id: GeneratedAlways<number>;
    name: string;
    document: string;
    source: string | null;
    offered: Generated<boolean>;
    owner: 'fleet' | 'portal';
    created_at: Generated<Date>;
  };
  members: {
    organisation_id: number;
    person_id: number;
    role: 'read-only' | 'member' | 'admin' | 'owner';
    since: Generated<Date>;
  };
  mitigations: {
    id: GeneratedAlways<number>;
    attack_id: number;
    target: string;
    action: Json<unknown>;
    mode: 'enforce' | 'observe';
    safelist: Generated<string[]>;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
    ended_because: 'over' | 'expired' | 'cancelled' | 'settings' | null;
    countermeasure: Json<ColumnTypes['mitigations.countermeasure']>;
  };
  nats: {
    single: Generated<boolean>;
    operator_seed: Buffer;
    system_seed: Buffer;
    account_seed: Buffer;
    authority_key: string;
    authority_cert: string;
    servers: Generated<string[]>;
  };
  nats_revocations: {
    key: string;
    revoked_at: Generated<Date>;
  };
  nodes: {
    id: GeneratedAlways<number>;
    name: string;
    owner: 'fleet' | 'portal';
    memory_mib: number | null;
    disk_mib: number | null;
    addresses: Generated<string[]>;
    given_ports: Generated<string>;
    credential_hash: Buffer | null;
    enrolled_at: Date | null;
    nats_key: string | null;
    instance: string | null;
    last_seen_at: Date | null;
    engine: Json<ColumnTypes['nodes.engine']> | null;
    lost_at: Date | null;
    ports_due: Generated<Date>;
    mounts: JsonWithDefault<unknown>;
    keep_days: Generated<number>;
    sftp_host: string | null;
    sftp: Json<ColumnTypes['nodes.sftp']> | null;
    activity_batch: string | null;
  };
  ongoing_attacks: {
    subject: string;
    attack_id: number;
    revision: number;
    started_at: Date;
    opened_at: Date;
    ended_at: Date | null;
    seen_at: Date;
    detector: Json<unknown>;
    asked_at: Date | null;
  };
  organisations: {
    id: GeneratedAlways<number>;
    slug: string;
    external_id: string | null;
    name: string;
    flags: Generated<string[]>;
    rules_per_ip: Generated<number>;
    filters_per_ip: Generated<number>;
    max_ports_per_request: Generated<number>;
    attack_history_days: Generated<number>;
    configured_addresses: Generated<number>;
    requests_per_minute: Generated<number>;
    detection: JsonWithDefault<ColumnTypes['organisations.detection']>;
    owner: 'fleet' | 'portal';
    created_at: Generated<Date>;
    own_servers: Generated<number>;
    own_servers_memory: Generated<number>;
    own_servers_cpu: Generated<number>;
    own_servers_disk: Generated<number>;
  };
  passed_samples: {
    holding_id: number;
    destination: string;
    hour: Date;
    protocol: number;
    destination_port: number;
    source: string;
    edge_id: number;
    packets: number;
    last_at: Date;
  };
  passkey_challenges: {
    challenge: string;
    person_id: number | null;
    expires_at: Date;
  };
  passkeys: {
    id: GeneratedAlways<number>;
    person_id: number;
    name: string;
    credential_id: string;
    public_key: Buffer;
    counter: number;
    transports: string[];
    created_at: Generated<Date>;
    last_used_at: Date | null;
  };
  people: {
    id: GeneratedAlways<number>;
    email: string;
    name: string;
    password_hash: string;
    is_operator: Generated<boolean>;
    totp_secret: Buffer | null;
    totp_confirmed_at: Date | null;
    totp_last_step: Generated<number>;
    disabled_at: Date | null;
    created_at: Generated<Date>;
    proven_at: Generated<Date | null>;
    made_by: number | null;
  };
  person_ssh_keys: {
    id: GeneratedAlways<number>;
    person_id: number;
    name: string;
    type: string;
    public_key: Buffer;
    created_at: Generated<Date>;
    last_used_at: Date | null;
  };
  portal_links: {
    id: GeneratedAlways<number>;
    token_hash: Buffer;
    kind: 'operator' | 'invitation' | 'reset';
    email: string | null;
    organisation_id: number | null;
    role: 'read-only' | 'member' | 'admin' | 'owner' | null;
    person_id: number | null;
    created_by: string;
    created_at: Generated<Date>;
    expires_at: Date;
    used_at: Date | null;
    maker_id: number | null;
    mailed_hash: Buffer | null;
    server: string | null;
    rights: string[] | null;
    maker_key: number | null;
  };
  recovery_codes: {
    person_id: number;
    code_hash: Buffer;
  };
  refusal_events: {
    organisation_id: number;
    generation: number;
  };
  responder_calls: {
    id: GeneratedAlways<number>;
    run_id: number;
    kind: 'start' | 'withdraw';
    attempts: Generated<number>;
    due_at: Generated<Date>;
    claimed_until: Date | null;
    settled_at: Date | null;
    succeeded: boolean | null;
    result: string | null;
    released: Generated<number>;
  };
  responder_runs: {
    id: GeneratedAlways<number>;
    attack_id: number;
    organisation_id: number | null;
    responder: string;
    spec: Json<ColumnTypes['responder_runs.spec']>;
    started_at: Generated<Date>;
    expires_at: Date;
    withdrawn_at: Date | null;
    withdrawn_because: 'over' | 'expired' | 'cancelled' | 'settings' | null;
  };
  responder_turns: {
    responder: string;
    organisation_id: number;
    served_at: Date;
  };
  responders: {
    id: GeneratedAlways<number>;
    name: string;
    spec: Json<ColumnTypes['responders.spec']>;
    owner: 'fleet' | 'portal';
  };
  rules: {
    id: Generated<number>;
    address_id: number;
    action: 'allow' | 'deny';
    protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
    source: string | null;
    port: number | null;
    port_server: string | null;
    port_name: string | null;
    note: string | null;
    tags: Generated<string[]>;
    ref: string | null;
    expires_at: Date | null;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  server_activity: {
    id: GeneratedAlways<number>;
    server: string | null;
    at: Generated<Date>;
    actor_kind: string;
    actor: string;
    door: string;
    source: string | null;
    action: string;
    detail: JsonWithDefault<unknown>;
    times: Generated<number>;
    deleted_uuid: string | null;
    deleted_node: number | null;
  };
  server_openings: {
    id: GeneratedAlways<number>;
    server: string;
    holding_id: number;
    ip: string;
    protocol: 'tcp' | 'udp';
    port: number;
    created_generation: number;
    created_at: Generated<Date>;
    deleted_generation: number | null;
    deleted_at: Date | null;
  };
  server_people: {
    server: string;
    person_id: number;
    rights: string[];
    since: Generated<Date>;
  };
  server_ports: {
    uuid: string;
    ip: string;
    port: number;
  };
  server_samples: {
    uuid: string;
    minute: Date;
    memory_bytes: number;
    cpu_absolute: number;
    disk_bytes: number;
    network_rx_bytes: number;
    network_tx_bytes: number;
  };
  services: {
    id: number;
    organisation_id: number;
    name: string;
    active: Generated<boolean>;
    managed_filters: JsonWithDefault<ColumnTypes['services.managed_filters']>;
    detection: JsonWithDefault<ColumnTypes['services.detection']>;
    owner: 'fleet' | 'portal';
  };
  sessions: {
    id: GeneratedAlways<number>;
    token_hash: Buffer;
    person_id: number;
    acting_id: number | null;
    source: string | null;
    user_agent: string | null;
    created_at: Generated<Date>;
    last_seen_at: Generated<Date>;
    expires_at: Date;
  };
  sftp_passwords: {
    id: GeneratedAlways<number>;
    person_id: number;
    name: string;
    secret_hash: Buffer;
    created_at: Generated<Date>;
    last_used_at: Date | null;
    expires_at: Date;
  };
  sign_in_attempts: {
    email: string;
    origin: string;
    attempts: number;
    last_at: Date;
  };
  traffic_peaks: {
    subject: string;
    hour: Date;
    pps: number;
    bps: number;
  };
  webhook_deliveries: {
    id: GeneratedAlways<number>;
    webhook_id: number;
    event_id: number;
    state: Generated<'pending' | 'delivered' | 'failed' | 'skipped'>;
    attempts: Generated<number>;
    due_at: Generated<Date>;
    created_at: Generated<Date>;
    settled_at: Date | null;
    log: JsonWithDefault<ColumnTypes['webhook_deliveries.log']>;
    released: Generated<number>;
    claimed_until: Date | null;
  };
  webhooks: {
    id: GeneratedAlways<number>;
    organisation_id: number;
    name: string;
    url: string;
    kinds: string[];
    secret: Buffer;
    previous_secret: Buffer | null;
    previous_until: Date | null;
    disabled_at: Date | null;
    disabled_reason: string | null;
    created_at: Generated<Date>;
  };
  write_probe: {
    filler: Buffer;
  };
}
