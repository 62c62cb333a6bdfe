import { buildPolicy, type SourceFilter } from '@portcullis/core/firewall/build-policy.ts';
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
  BlockedRow,
  DefaultRow,
  FilterTuple,
  GeoAssignmentRow,
  GroupAssignmentRow,
  GroupRow,
  HoldingRow,
  MitigationRow,
  OpeningRow,
  OwnRow,
  PolicyRows,
  RuleTuple,
} from './rows.ts';
import { PrefixIndex } from '@portcullis/core/net/prefix-index.ts';

/** A target that needs a policy. */
export interface PolicyTarget {
  readonly target: Cidr;
  /** The holding lies inside a prefix with another holder's policy, so it needs its own, even an empty one. */
  readonly carved: boolean;
}

interface ParsedHolding extends HoldingRow {
  readonly prefix: Cidr;
}

/**
 * Assembles policies from rows: finds holders, accumulates objects over nested prefixes, lists targets that need a
 * policy. Pure, and linear in the rows.
 */
export class PolicyAssembly {
  readonly #holdings = new PrefixIndex<ParsedHolding>();
  readonly #byId = new Map<number, ParsedHolding>();
  readonly #own = new Map<string, OwnRow>();
  readonly #openings = new Map<string, OpeningRow[]>();
  readonly #groups = new Map<number, GroupRow>();
  readonly #groupAssignments = new PrefixIndex<GroupAssignmentRow>();
  readonly #geoAssignments = new PrefixIndex<GeoAssignmentRow>();
  readonly #defaults = new PrefixIndex<DefaultRow>();
  readonly #blocked = new PrefixIndex<BlockedRow>();
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
    for (const row of rows.openings) {
      const key = ownKey(row.holdingId, row.target);
      this.#openings.set(key, [...(this.#openings.get(key) ?? []), row]);
    }
    for (const row of rows.groups) this.#groups.set(row.id, row);
    for (const row of rows.groupAssignments) {
      this.#groupAssignments.add(storedCidr(row.target), row);
    }
    for (const row of rows.geoAssignments) this.#geoAssignments.add(storedCidr(row.target), row);
    for (const row of rows.defaults) this.#defaults.add(storedCidr(row.target), row);
    for (const row of rows.blocked) this.#blocked.add(storedCidr(row.target), row);
    for (const row of rows.baseline) this.#baseline.add(storedCidr(row.prefix), row);
    for (const row of rows.mitigations) this.#mitigations.add(storedCidr(row.target), row);
  }

  /** Every target in the rows that needs a policy. */
  targets(): PolicyTarget[] {
    const found = new Map<string, PolicyTarget>();
    const add = (target: Cidr, carved: boolean): void => {
      const key = formatCidr(target);
      if (carved || !found.has(key)) found.set(key, { target, carved });
    };
    for (const row of [...this.#rows.own, ...this.#rows.openings]) {
      const target = storedCidr(row.target);
      if (this.#holder(target)?.id === row.holdingId) add(target, false);
    }
    for (const row of this.#rows.baseline) add(storedCidr(row.prefix), false);
    const assigned = new PrefixIndex<Cidr>();
    const { groupAssignments, geoAssignments, blocked } = this.#rows;
    for (const row of [...groupAssignments, ...geoAssignments, ...blocked]) {
      const target = this.#assignedTarget(row);
      if (target === null) continue;
      add(target, false);
      assigned.add(target, target);
    }
    for (const row of this.#rows.defaults) {
      const target = this.#assignedTarget(row);
      if (target === null) continue;
      // A default of accept is an empty policy, which hides the default of a containing prefix.
      add(target, row.action === 'accept');
      assigned.add(target, target);
    }
    // Only while it is held: the holding may have ended.
    for (const row of this.#rows.mitigations) {
      const target = storedCidr(row.target);
      if (this.#holder(target) === undefined) continue;
      add(target, false);
      assigned.add(target, target);
    }
    for (const held of this.#byId.values()) {
      const contained = assigned.covering(held.prefix).some((p) => p.length < held.prefix.length);
      if (contained) add(held.prefix, true);
      else if (managesFilters(held)) add(held.prefix, false);
    }
    return [...found.values()];
  }

  /** The complete policy of a target: own objects, assignments and baseline of the target and its containing prefixes. */
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
    const key = holding && ownKey(holding.id, formatCidr(target));
    const own = key === undefined ? undefined : this.#own.get(key);
    const openings = key === undefined ? [] : (this.#openings.get(key) ?? []);
    return buildPolicy({
      target: formatNetwork(target),
      blocked: this.#blocked
        .covering(target)
        .filter(mine)
        .map((row) => row.name),
      baseline: this.#baseline.covering(target).flatMap((row) => row.rules.map(ruleOf)),
      geo: [...geo.values()].map(({ ruleId: id, action, countries, asns }) => {
        return { id, action, countries, asns };
      }),
      default: this.#defaults.covering(target).findLast(mine)?.action ?? 'accept',
      rules: own?.rules.map(ruleOf) ?? [],
      serverPorts: openings.map(({ id, protocol, port }) => {
        return { id, action: 'allow', protocol, port, source: null };
      }),
      groupRules: groups.flatMap((group) => group.rules.map(ruleOf)),
      filters: own?.filters.flatMap(filterOf) ?? [],
      groupFilters: groups.flatMap((group) => group.filters.flatMap(filterOf)),
      managedFilters: holding === undefined ? [] : managedFilters(holding),
      mitigations: this.#mitigations
        .covering(target)
        .filter((row) => mine({ holdingId: this.#holder(storedCidr(row.target))?.id ?? -1 })),
    });
  }

  #holder(target: Cidr): ParsedHolding | undefined {
    return this.#holdings.covering(target).at(-1);
  }

  /** The target inside the assignment's holding; null when a more specific holding has it. */
  #assignedTarget(row: Pick<GroupAssignmentRow, 'target' | 'holdingId'>): Cidr | null {
    const held = this.#byId.get(row.holdingId);
    if (held === undefined) return null;
    const wanted = storedCidr(row.target);
    const target = containsCidr(wanted, held.prefix) ? held.prefix : wanted;
    return this.#holder(target)?.id === held.id ? target : null;
  }
}

/** Managed filters on the ports of the service, or else on those of its game servers. */
function managedFilters(held: ParsedHolding): { type: FilterType; port: number }[] {
  return (held.managedFilters ?? []).flatMap((managed) => {
    const type = findFilter(managed.type)?.type;
    if (type === undefined) return [];
    return portsOf(managed.ports, held).map((port) => ({ type, port }));
  });
}

function portsOf(
  expression: string | null,
  { gamePorts, namedPorts }: ParsedHolding,
): readonly number[] {
  if (expression === null) return gamePorts;
  const numbers = expression
    .split(',')
    .flatMap((item) => (item.includes(':') ? (namedPorts?.[item] ?? []) : item));
  const ranges = parsePortExpression(numbers.join(','));
  return ranges.ok ? expandPorts(ranges.value) : [];
}

function managesFilters(held: ParsedHolding): boolean {
  return held.managedFilters?.some(({ ports }) => portsOf(ports, held).length > 0) ?? false;
}

function ruleOf([id, action, protocol, source, port]: RuleTuple) {
  return { id, action, protocol, source, port };
}

/** Leaves out a type that only a newer version knows. */
function filterOf([id, stored, port, settings]: FilterTuple): SourceFilter[] {
  const type = findFilter(stored)?.type;
  return type === undefined ? [] : [{ id, type, port, ...(settings && { settings }) }];
}

function ownKey(holdingId: number, target: string): string {
  return `${holdingId} ${target}`;
}

/** Parses a cidr that PostgreSQL wrote. */
export function storedCidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok)
    throw new Error(`the database holds ${text}, which is no network: ${parsed.reason}`);
  return parsed.value;
}
