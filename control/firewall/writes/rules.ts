import { sql } from 'kysely';
import { parseRule } from '@portcullis/core/firewall/rule.ts';
import { countPorts, expandPorts, type PortRange } from '@portcullis/core/net/ports.ts';
import type { Tx } from '../../db/database.ts';
import { isUnavailable } from '../../db/failure.ts';
import { isRetryable, RepeatTransaction } from '../../http/operations/transaction.ts';
import type { Call } from '../../http/operations/operation.ts';
import { Problem } from '../../problem.ts';
import { explainNewRules } from './no-effect.ts';
import { requirePortCount, requireRuleCount } from './limits.ts';
import * as messages from './messages.ts';
import { type Enforcement, type RuleContent, ruleKey } from '../objects.ts';
import {
  audit,
  eventOf,
  familyOf,
  leaveWriteScope,
  markConfigured,
  openWriteScope,
  type ServiceDeps,
  type AddressWriteScope,
} from './address-write.ts';
import { takeGeneration } from '../../fleet/generations.ts';
import { landChange, ruleInsert } from './land.ts';

/** The body of a rule creation, checked for types alone. */
export interface RuleRequest {
  readonly action: string;
  readonly protocol: string;
  readonly destination_port?: string | null;
  readonly source_ip?: string | null;
}

/** With a port by its name, in place of a port expression; only of x1. */
export interface NamingRuleRequest extends RuleRequest {
  readonly named_port?: string | null;
}

export interface Outcome {
  readonly generation: number;
  readonly enforcement: Enforcement;
  readonly message: string;
}
export interface RulesCreated extends Outcome {
  readonly ids: readonly number[];
  readonly requested: number;
}
export interface RulesDeleted extends Outcome {
  readonly ids: readonly number[];
}

type Rule = Omit<RuleContent, 'port'>;
type Port = number | null;

/** Creates one rule per port, in ascending order. Leaves out ports that fail; throws 502 when all fail. */
export async function createRules(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  request: RuleRequest,
): Promise<RulesCreated> {
  const scope = await openWriteScope(deps, tx, call);
  const { rule, ports } = readRule(call, request);
  refuseExisting(scope, rule, ports);
  requireRuleCount(call, scope.state.rules.length, ports.length);
  await markConfigured(tx, call, scope, true);
  const noEffect = explainNewRules(
    scope.state,
    ports.map((port) => ({ ...rule, port })),
  );
  const landed = await insertPorts(deps, tx, call, { scope, rule, ports });
  if (landed.ids.length === 0) {
    throw new Problem(
      'no_port_landed',
      'No port of this request could be stored, so nothing was created. Try again.',
    );
  }
  const { ids, failed, generation } = landed;
  call.afterCommit(() =>
    deps.events.rulesCreated({
      ...eventOf(call, generation),
      created: ids.length,
      failed: failed.length,
    }),
  );
  const { enforcement } = scope.state;
  const message = messages.rulesAccepted(ids.length, failed, { enforcement, noEffect });
  return { ids, requested: ports.length, generation, enforcement, message };
}

/** Deletes own rules by id. Ids not on this address are skipped; one of a group refuses the whole request. */
export async function deleteRulesById(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  wanted: readonly number[],
): Promise<RulesDeleted> {
  const scope = await openWriteScope(deps, tx, call);
  const { rules, filters, enforcement } = scope.state;
  const named = new Set(wanted);
  const found = rules.filter((rule) => named.has(rule.id));
  for (const { id, group } of found) {
    if (group !== null) {
      throw new Problem('managed_by_group', messages.ownedByGroup(group, 'rule', String(id)));
    }
  }
  const ids = found.map((rule) => rule.id).toSorted((a, b) => a - b);
  const message = messages.rulesDeleted(ids.length, named.size, { enforcement });
  if (ids.length === 0)
    return { ids, generation: await leaveWriteScope(tx, scope), enforcement, message };
  const left = [...rules, ...filters].filter((object) => object.group === null).length - ids.length;
  await markConfigured(tx, call, scope, left > 0);
  const { generation } = await landChange(tx, call, scope.address.id, {
    cause: 'rule.delete',
    detail: { ids, requested: named.size },
    deleteRules: ids,
  });
  call.afterCommit(() =>
    deps.events.rulesDeleted({ ...eventOf(call, generation), deleted: ids.length }),
  );
  return { ids, generation, enforcement, message };
}

/** Parses the request to a rule and its ports (`[null]` is any port), counted before expansion; throws 422. */
export function readRule(
  call: Call,
  request: RuleRequest,
  pointer = '',
): { rule: Rule; ports: Port[] } {
  const parsed = parseRule(
    {
      action: request.action,
      protocol: request.protocol,
      destinationPort: request.destination_port ?? null,
      source: request.source_ip ?? null,
    },
    familyOf(call.ip),
  );
  if (!parsed.ok) {
    throw new Problem('invalid_request', `The rule is not valid: ${parsed.reason}.`, {
      errors: [{ pointer: `${pointer}/${parsed.field}`, detail: parsed.reason }],
    });
  }
  const { action, protocol, source, ports } = parsed.value;
  return { rule: { action, protocol, source }, ports: readPorts(call, ports) };
}

export function readPorts(call: Call, ranges: readonly PortRange[]): number[];
export function readPorts(call: Call, ranges: readonly PortRange[] | null): Port[];
export function readPorts(call: Call, ranges: readonly PortRange[] | null): Port[] {
  if (ranges === null) return [null];
  requirePortCount(call, countPorts(ranges));
  return expandPorts(ranges);
}

function refuseExisting(scope: AddressWriteScope, rule: Rule, ports: readonly Port[]): void {
  const there = new Set(scope.state.rules.map(ruleKey));
  const equal = ports.filter((port) => there.has(ruleKey({ ...rule, port })));
  if (equal.length === 0) return;
  throw new Problem('rule_exists', messages.ruleExists(equal.filter((port) => port !== null)));
}

interface PortInsert {
  readonly scope: AddressWriteScope;
  readonly rule: Rule;
  readonly ports: readonly Port[];
}

/**
 * Inserts all ports in the statement that takes the generation. When the database refuses that, the transaction is
 * repeated with a savepoint for each port, so that one bad port does not fail others.
 */
async function insertPorts(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  insert: PortInsert,
): Promise<{ ids: readonly number[]; failed: readonly number[]; generation: number }> {
  const { scope, rule, ports } = insert;
  const cause = 'rule.create';
  if (call.isRepeated) return insertPortByPort(deps, tx, call, insert);
  try {
    const detail = { ...rule, requested: ports.length, failed: [] };
    const createRules = ports.map((port) => ({ ...rule, port }));
    const landed = await landChange(tx, call, scope.address.id, { cause, detail, createRules });
    return { ...landed, failed: [] };
  } catch (error) {
    if (isUnavailable(error) || isRetryable(error)) throw error;
    throw new RepeatTransaction('a port could not be stored', { cause: error });
  }
}

async function insertPortByPort(
  deps: ServiceDeps,
  tx: Tx,
  call: Call,
  { scope, rule, ports }: PortInsert,
): Promise<{ ids: number[]; failed: number[]; generation: number }> {
  const generation = await takeGeneration(tx, { cause: 'rule.create', targets: [call.ip] });
  const ids: number[] = [];
  const failed: number[] = [];
  for (const port of ports) {
    const insert = ruleInsert(scope.address.id, [{ ...rule, port }], sql`${generation}::bigint`);
    const one = await attempt(tx, () => insert.execute(tx));
    if (one.ok) ids.push(...one.value.rows.map(({ id }) => id));
    else {
      if (port !== null) failed.push(port);
      deps.events.portFailed({ ip: call.ip, port, error: one.error });
    }
  }
  const detail = { ...rule, ids, requested: ports.length, failed };
  await audit(tx, call, { action: 'rule.create', detail, generation });
  return { ids, failed, generation };
}

/** Runs a statement in a savepoint. Throws failures of the connection or of the whole transaction. */
async function attempt<T>(
  tx: Tx,
  run: () => Promise<T>,
): Promise<
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }
> {
  await sql`savepoint port`.execute(tx);
  try {
    return { ok: true, value: await run() };
  } catch (error) {
    // Fails too on a broken connection or an ended transaction, and the request with it.
    await sql`rollback to savepoint port`.execute(tx);
    await sql`release savepoint port`.execute(tx);
    if (isUnavailable(error) || isRetryable(error)) throw error;
    return { ok: false, error };
  }
}
