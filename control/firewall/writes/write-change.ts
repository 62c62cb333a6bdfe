import { type RawBuilder, sql } from 'kysely';
import { keyActor } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import { noteLock } from '../../db/locks.ts';
import { announced, lostFleet, takenGeneration } from '../../fleet/generations.ts';
import type { AddressCall } from '../../http/operations/operation.ts';
import type { FilterContent, RuleContent } from '@portcullis/core/firewall/rules/content.ts';

/** The change that a write makes to an address, and how it is audited. */
export interface AddressChange {
  /** `rule.create`, for operators. */
  readonly cause: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly createRules?: readonly RuleContent[];
  readonly createFilters?: readonly FilterContent[];
  /** Ids of own objects. */
  readonly deleteRules?: readonly number[];
  readonly deleteFilters?: readonly number[];
}

export interface WrittenChange {
  readonly generation: number;
  /** Ids of the created rules, in the given order. The audit entry has them too. */
  readonly ids: readonly number[];
}

/**
 * Takes a generation, changes the address with it and writes the audit entry, in one statement: until the commit after
 * it every other write of the fleet waits.
 */
export async function writeChange(
  tx: Tx,
  call: AddressCall,
  addressId: number,
  change: AddressChange,
): Promise<WrittenChange> {
  noteLock(tx, 'fleet');
  const parts = [takenGeneration({ cause: change.cause, targets: [call.params.ip] })];
  const { createRules = [], createFilters = [], deleteRules = [], deleteFilters = [] } = change;
  if (deleteRules.length > 0) parts.push(deletion('rules', addressId, deleteRules));
  if (deleteFilters.length + createFilters.length > 0) {
    parts.push(deletion('filters', addressId, deleteFilters));
  }
  if (createRules.length > 0) {
    parts.push(sql`created as (${ruleInsert(addressId, createRules)})`);
  }
  if (createFilters.length > 0) parts.push(filterInsert(addressId, createFilters));
  const ids =
    createRules.length > 0
      ? sql`(select array_agg(id order by id) from created)`
      : sql`'{}'::bigint[]`;
  parts.push(audited(call, change, ids));
  const { rows } = await sql<{ generation: number; ids: number[] }>`
    with ${sql.join(parts, sql`, `)}
    select generation, ${ids} as ids, ${announced()} from taken`.execute(tx);
  const landed = rows[0];
  if (landed === undefined) throw lostFleet();
  return landed;
}

/** Inserts rules and returns their ids in the given order. */
function ruleInsert(addressId: number, rules: readonly RuleContent[]): RawBuilder<unknown> {
  return sql`
    insert into rules (address_id, action, protocol, source, port, port_server, port_name, created_generation)
    select ${addressId}::bigint, action, protocol, source, port, port_server, port_name, (select generation from taken)
      from unnest(${rules.map((rule) => rule.action)}::text[], ${rules.map((rule) => rule.protocol)}::text[],
                  ${rules.map((rule) => rule.source)}::cidr[], ${rules.map((rule) => rule.port)}::integer[],
                  ${rules.map((rule) => rule.namedPort?.server ?? null)}::uuid[],
                  ${rules.map((rule) => rule.namedPort?.name ?? null)}::text[])
             with ordinality as wanted (action, protocol, source, port, port_server, port_name, place)
     order by place
    returning id`;
}

function filterInsert(addressId: number, filters: readonly FilterContent[]): RawBuilder<unknown> {
  return sql`filtered as (
    insert into filters (address_id, type, port, settings, created_generation)
    select ${addressId}::bigint, type, port, settings, (select generation from taken)
      from unnest(${filters.map((f) => f.type)}::text[], ${filters.map((f) => f.port)}::integer[],
                  ${filters.map((f) => JSON.stringify(f.settings ?? {}))}::jsonb[]) as wanted (type, port, settings)
     -- First the end of a filter of the same port that has other settings.
     where (select count(*) from ended_filters) >= 0)`;
}

function deletion(
  table: 'rules' | 'filters',
  addressId: number,
  ids: readonly number[],
): RawBuilder<unknown> {
  return sql`${sql.ref(`ended_${table}`)} as (
    update ${sql.table(table)} set deleted_generation = (select generation from taken), deleted_at = now()
     where address_id = ${addressId} and id = any(${ids}::bigint[]) and deleted_generation is null
    returning 1)`;
}

function audited(
  call: AddressCall,
  { cause, detail }: AddressChange,
  ids: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { kind, name, source, requestId } = keyActor(call);
  return sql`audited as (
    insert into audit (organisation_id, actor_kind, actor, source, request_id, action, target, detail, generation)
    select ${call.by.organisationId}::bigint, ${kind}, ${name}, ${source}::inet, ${requestId}, ${cause}, ${call.params.ip},
           jsonb_build_object('ids', ${ids}) || ${JSON.stringify(detail)}::jsonb, generation
      from taken)`;
}
