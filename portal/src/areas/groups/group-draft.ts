import type { Group, GroupInput } from '@portcullis/client/index.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';

export const EMPTY_GROUP: GroupInput = { name: '', rules: [], filters: [], targets: [] };

/** A group as the form holds it: a rule and a filter for each port. */
export function inputOfGroup({ name, rules, filters, targets }: Group): GroupInput {
  return {
    name,
    rules: rules.map(({ id: _id, destination_port: port, ...rule }) => ({
      ...rule,
      destination_port: port === null ? null : String(port),
    })),
    filters: filters.map(({ id: _id, port, ...filter }) => ({ ...filter, port: String(port) })),
    targets,
  };
}

/** Whether saving would change nothing; the order of targets means nothing. */
export function isSameGroup(a: GroupInput, b: GroupInput): boolean {
  const canonical = (one: GroupInput) =>
    JSON.stringify({ ...one, name: one.name.trim(), targets: one.targets.toSorted() });
  return canonical(a) === canonical(b);
}

export interface WrongTarget {
  readonly typed: string;
  readonly reason: string;
}

/** The first target that is neither an address nor a prefix; the service says which are not held. */
export function findWrongTarget(targets: readonly string[]): WrongTarget | null {
  for (const typed of targets) {
    const parsed = parseCidr(typed);
    if (!parsed.ok) return { typed, reason: parsed.reason };
  }
  return null;
}

/** The words by which a group is found: its name, targets, rules and filters. */
export function fieldsOf({ name, targets, rules, filters }: Group): readonly string[] {
  return [
    name,
    ...targets,
    ...rules.map((one) => `${one.action} ${one.protocol} ${one.destination_port} ${one.source_ip}`),
    ...filters.map(({ type, port }) => `${type} ${port}`),
    ...[...rules, ...filters].map(({ ref, note }) => `${ref ?? ''} ${note ?? ''}`),
  ];
}
