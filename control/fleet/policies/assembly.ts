import { buildPolicy } from '@portcullis/core/firewall/build-policy.ts';
import { type FilterType, findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import {
  type Cidr,
  containsCidr,
  formatCidr,
  formatNetwork,
  parseCidr,
} from '@portcullis/core/net/cidr.ts';
import { expandPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import type {
  BaselineRow,
  FilterTuple,
  GeoAssignmentRow,
  GroupAssignmentRow,
  GroupRow,
  HoldingRow,
  MitigationRow,
  OwnRow,
  PolicyRows,
  RuleTuple,
} from './rows.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

/** A target that needs a policy. */
export interface PolicyTarget {
  readonly target: Cidr;
  /** A holding inside a prefix that another holder's policy would judge: it needs its own, even an empty one. */
  readonly carved: boolean;
}

interface Held extends HoldingRow {
  readonly prefix: Cidr;
}

/**
 * Puts loaded rows together: who has what, what accumulates over nested prefixes, which targets need a policy.
 * Pure, and linear in the rows: nothing here looks at all assignments for each address.
 */
export class PolicyAssembly {
  readonly #holdings = new PrefixIndex<Held>();
  readonly #byId = new Map<number, Held>();
  readonly #own = new Map<string, OwnRow>();
  readonly #groups = new Map<number, GroupRow>();
  readonly #groupAssignments = new PrefixIndex<GroupAssignmentRow>();
  readonly #geoAssignments = new PrefixIndex<GeoAssignmentRow>();
  readonly #baseline = new PrefixIndex<BaselineRow>();
  readonly #mitigations = new PrefixIndex<MitigationRow>();
  readonly #rows: PolicyRows;

  constructor(rows: PolicyRows) {
    this.#rows = rows;
    for (const row of rows.holdings) {
      const held = { ...row, prefix: storedCidr(row.cidr) };
      this.#holdings.add(held.prefix, held);
      this.#byId.set(row.id, held);
    }
    for (const row of rows.own) this.#own.set(ownKey(row.holdingId, row.target), row);
    for (const row of rows.groups) this.#groups.set(row.id, row);
    for (const row of rows.groupAssignments) {
      this.#groupAssignments.add(storedCidr(row.target), row);
    }
    for (const row of rows.geoAssignments) this.#geoAssignments.add(storedCidr(row.target), row);
    for (const row of rows.baseline) this.#baseline.add(storedCidr(row.prefix), row);
    for (const row of rows.mitigations) this.#mitigations.add(storedCidr(row.target), row);
  }

  /** Every target that needs a policy, as far as the rows reach. */
  targets(): PolicyTarget[] {
    const found = new Map<string, PolicyTarget>();
    const add = (target: Cidr, carved: boolean): void => {
      const key = formatCidr(target);
      if (carved || !found.has(key)) found.set(key, { target, carved });
    };
    for (const row of this.#rows.own) {
      const target = storedCidr(row.target);
      if (this.#holder(target)?.id === row.holdingId) add(target, false);
    }
    for (const row of this.#rows.baseline) add(storedCidr(row.prefix), false);
    const assigned = new PrefixIndex<Cidr>();
    for (const row of [...this.#rows.groupAssignments, ...this.#rows.geoAssignments]) {
      const target = this.#assignedTarget(row);
      if (target === null) continue;
      add(target, false);
      assigned.add(target, target);
    }
    // Only where somebody holds it: whoever had it may be gone.
    for (const row of this.#rows.mitigations) {
      const target = storedCidr(row.target);
      if (this.#holder(target) === undefined) continue;
      add(target, false);
      assigned.add(target, target);
    }
    for (const held of this.#byId.values()) {
      const around = assigned.covering(held.prefix).some((p) => p.length < held.prefix.length);
      if (around) add(held.prefix, true);
      else if (managesFilters(held)) add(held.prefix, false);
    }
    return [...found.values()];
  }

  /** The complete policy of a target: its holder's own, all that is assigned around it, the baseline around it. */
  policyOf(target: Cidr): Policy {
    const holding = this.#holder(target);
    const mine = (row: { readonly holdingId: number }): boolean => row.holdingId === holding?.id;
    const groupIds = new Set(
      this.#groupAssignments
        .covering(target)
        .filter(mine)
        .map((row) => row.groupId),
    );
    const groups = [...groupIds].flatMap((id) => this.#groups.get(id) ?? []);
    const geo = new Map(
      this.#geoAssignments
        .covering(target)
        .filter(mine)
        .map((row) => [row.ruleId, row]),
    );
    const own = holding && this.#own.get(ownKey(holding.id, formatCidr(target)));
    return buildPolicy({
      target: formatNetwork(target),
      baseline: this.#baseline.covering(target).flatMap((row) => row.rules.map(ruleOf)),
      geo: [...geo.values()].map(({ ruleId: id, action, countries, asns }) => {
        return { id, action, countries, asns };
      }),
      rules: own?.rules.map(ruleOf) ?? [],
      groupRules: groups.flatMap((group) => group.rules.map(ruleOf)),
      filters: own?.filters.flatMap(filterOf) ?? [],
      groupFilters: groups.flatMap((group) => group.filters.flatMap(filterOf)),
      managedFilters: holding === undefined ? [] : managedFilters(holding),
      mitigations: this.#mitigations
        .covering(target)
        .filter((row) => mine({ holdingId: this.#holder(storedCidr(row.target))?.id ?? -1 })),
    });
  }

  #holder(target: Cidr): Held | undefined {
    return this.#holdings.covering(target).at(-1);
  }

  /** Where an assignment takes effect: its target as far as its holding reaches, unless a more specific one has that. */
  #assignedTarget(row: GroupAssignmentRow | GeoAssignmentRow): Cidr | null {
    const held = this.#byId.get(row.holdingId);
    if (held === undefined) return null;
    const wanted = storedCidr(row.target);
    const target = containsCidr(wanted, held.prefix) ? held.prefix : wanted;
    return this.#holder(target)?.id === held.id ? target : null;
  }
}

/** On the ports that the service says, else on those of its game servers. */
function managedFilters(held: Held): { type: FilterType; port: number }[] {
  return (held.managedFilters ?? []).flatMap((managed) => {
    const type = findFilter(managed.type)?.type;
    if (type === undefined) return [];
    return portsOf(managed.ports, held).map((port) => ({ type, port }));
  });
}

function portsOf(expression: string | null, { gamePorts }: Held): readonly number[] {
  if (expression === null) return gamePorts;
  const ranges = parsePortExpression(expression);
  return ranges.ok ? expandPorts(ranges.value) : [];
}

function managesFilters(held: Held): boolean {
  return held.managedFilters?.some(({ ports }) => portsOf(ports, held).length > 0) ?? false;
}

function ruleOf([id, action, protocol, source, port]: RuleTuple) {
  return { id, action, protocol, source, port };
}

/** A type that this version does not know was stored by a newer one, whose edges know it. */
function filterOf([id, stored, port]: FilterTuple): {
  id: number;
  type: FilterType;
  port: number;
}[] {
  const type = findFilter(stored)?.type;
  return type === undefined ? [] : [{ id, type, port }];
}

function ownKey(holdingId: number, target: string): string {
  return `${holdingId} ${target}`;
}

/** PostgreSQL's text of a cidr. */
export function storedCidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok)
    throw new Error(`the database holds ${text}, which is no network: ${parsed.reason}`);
  return parsed.value;
}
