import { Type } from 'typebox';
import { owner } from './operator.ts';
import {
  answer,
  arrayOf,
  CLOSED,
  id,
  integer,
  natural,
  object,
  openChoice,
  openChoiceOrNull,
  orNull,
  sent,
  sentText,
  textOrNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

const Edge = object('Edge', {
  name: Type.String(),
  site: Type.String(),
  owner,
  devices: Type.Array(Type.String(), { description: 'By which packets come in.' }),
  serves: Type.Array(Type.String()),
  sees: openChoice(['both', 'inbound']),
  fragments: openChoice(['reassemble', 'limit']),
  mode: openChoiceOrNull(['enforce', 'observe', 'no_device'], {
    description:
      '`no_device`: no packet can come in by its devices, so it enforces nothing. Null: it never connected.',
  }),
  mode_reason: textOrNull(),
  in_service: Type.Boolean(),
  last_seen_at: timestampOrNull(),
  generation: natural(),
  accepted_generation: natural(),
  lag_ms: Type.Number(),
  refused: arrayOf({
    target: Type.String(),
    reason: Type.String(),
    good_generation: natural(),
  }),
  report: orNull(Type.Record(Type.String(), Type.Unknown()), {
    description: 'Its last report: policies, kernel state, problems, devices.',
  }),
});

const FleetNode = object('FleetNode', {
  name: Type.String(),
  owner,
  memory: orNull(natural(), { description: 'MiB that it offers; null: without limit.' }),
  disk: orNull(natural(), { description: 'MiB that it offers; null: without limit.' }),
  memory_used: natural({ description: 'MiB that its servers have together.' }),
  disk_used: natural({ description: 'MiB that its servers have together.' }),
  addresses: Type.Array(Type.String(), { description: 'From which servers are given a port.' }),
  ports: Type.String({ description: 'A port expression: those that servers are given.' }),
  enrolled_at: timestampOrNull(),
  last_seen_at: timestampOrNull(),
  connected: Type.Boolean(),
  engine: orNull(
    Type.Object({ kind: Type.String(), version: textOrNull(), problem: textOrNull() }),
  ),
  servers: natural(),
  built: natural(),
  failed: arrayOf({ uuid: Type.String(), name: Type.String(), reason: textOrNull() }),
});

const FleetCollector = object('FleetCollector', {
  name: Type.String(),
  owner,
  listen: Type.String(),
  exporters: natural({ description: 'How many are listed.' }),
  prefixes: Type.Union([Type.Array(Type.String()), Type.Literal('all')], {
    description: 'The destinations of which its exporters are believed, together.',
  }),
  enrolled_at: timestampOrNull({ description: 'Null: it has no credential.' }),
  last_seen_at: timestampOrNull(),
  connected: Type.Boolean(),
  report: orNull(Type.Record(Type.String(), Type.Unknown()), {
    description: 'Its last report: exporters, datagrams, losses.',
  }),
});

export const FleetHealth = answer('FleetHealth', {
  edges: Type.Array(Edge),
  nodes: Type.Array(FleetNode),
  collectors: Type.Array(FleetCollector),
});

export const EnforceCommand = answer('EnforceCommand', {
  command: textOrNull({
    description: 'Null: the hosts of the fleet are started one by one, not by `portcullis up`.',
  }),
});

const AuditEntry = object('AuditEntry', {
  id: id(),
  at: timestamp(),
  organisation: textOrNull({ description: 'Its slug; null: none.' }),
  actor_kind: openChoice(['key', 'user', 'operator', 'fleet', 'system']),
  actor: Type.String(),
  source: textOrNull(),
  request_id: textOrNull(),
  action: Type.String(),
  target: Type.String(),
  detail: Type.Record(Type.String(), Type.Unknown()),
  generation: orNull(natural()),
});

export const AuditTrail = object('AuditTrail', {
  data: Type.Array(AuditEntry, { description: 'Newest first.' }),
  links: Type.Object({ next: textOrNull({ description: 'The older page; null on the last.' }) }),
});

export const AuditQuery = Type.Object(
  {
    search: Type.Optional(
      sentText({
        maxLength: 200,
        description: 'Text in the actor, the action, the target, the source or the request id.',
      }),
    ),
    organisation: Type.Optional(sentText({ maxLength: 63 })),
    before: Type.Optional(natural({ description: 'Only entries with a lower id.' })),
    per_page: Type.Optional(integer({ minimum: 1, maximum: 100, default: 50 })),
  },
  CLOSED,
);

export const JoinInput = sent('JoinInput', {
  approve: Type.Optional(
    Type.Boolean({ description: 'The host waits until an operator approves it. Default: false.' }),
  ),
  minutes: Type.Optional(
    integer({ minimum: 1, maximum: 10_080, description: 'How long it works. Default: 60.' }),
  ),
});

export const ApprovalInput = sent('ApprovalInput', {
  fingerprint: sentText({
    minLength: 39,
    maxLength: 39,
    description: 'The fingerprint of the key of the host, as the host shows it.',
  }),
});

export const JoinCommand = answer('JoinCommand', {
  command: textOrNull({
    description:
      'What to run on the new host, as root. It works once. Null in the repeated answer of an Idempotency-Key.',
  }),
  expires_at: timestamp(),
});

export const ApprovedHosts = answer('ApprovedHosts', {
  addresses: Type.Array(Type.String(), { description: 'From where the host presented its token.' }),
});
