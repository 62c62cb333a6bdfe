import type { FleetChange, FleetPlan } from './change.ts';
import { type Mistake, MistakeList, type Position } from '../mistakes.ts';

/** What comes first, so that every step finds what it needs; before all, holdings give up time (`makeRoom`). */
const ORDER: Readonly<Record<FleetChange['do'], number>> = {
  'organisation.create': 0,
  'organisation.update': 0,
  'group.unassign': 1,
  'geo.unassign': 1,
  'group.delete': 2,
  'geo.delete': 2,
  'key.revoke': 3,
  'server.delete': 3,
  'holding.delete': 4,
  'asn.add': 6,
  'node.create': 6,
  'service.create': 7,
  'service.update': 7,
  'holding.change': 8,
  'holding.create': 9,
  'server.update': 9,
  'server.create': 9,
  'detection.set': 10,
  'service.close': 10,
  'service.delete': 10,
  'asn.remove': 11,
  'group.create': 12,
  'group.edit': 12,
  'geo.create': 12,
  'group.assign': 13,
  'geo.assign': 13,
  'key.create': 14,
  'key.update': 14,
  'baseline.remove': 15,
  'baseline.add': 15,
  'edge.delete': 16,
  'edge.create': 16,
  'edge.update': 16,
  'node.delete': 16,
  'collector.delete': 16,
  'collector.save': 17,
  'responder.delete': 16,
  'responder.save': 17,
  'organisation.close': 18,
};

/** A change before it is given its place. */
type PlainChange = FleetChange extends infer Each
  ? Each extends FleetChange
    ? Omit<Each, 'at'>
    : never
  : never;

/** A plan while it is made. */
export class PlanDraft {
  /** The whole file: of what is wrong because it is not in it. */
  static readonly fileStart: Position = { line: 1, column: 1 };
  readonly #steps: { readonly order: number; readonly change: FleetChange }[] = [];
  readonly #mistakes: MistakeList;
  readonly #orphans: Mistake[] = [];
  readonly #notes: string[] = [];
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.#mistakes = new MistakeList(path);
  }

  /** `at`: where the file asks for it. */
  add(change: PlainChange, at: Position = PlanDraft.fileStart): void {
    this.#steps.push({ order: ORDER[change.do], change: { ...change, at } });
  }

  refuse(at: Position, message: string): void {
    this.#mistakes.add(at, message);
  }

  orphan(at: Position, message: string): void {
    this.#orphans.push({ file: this.#path, line: at.line, column: at.column, message });
  }

  note(message: string): void {
    this.#notes.push(message);
  }

  finish(): FleetPlan {
    const ordered = this.#steps.toSorted((a, b) => a.order - b.order);
    return {
      path: this.#path,
      changes: ordered.map(({ change }) => change),
      mistakes: this.#mistakes.list(),
      orphans: this.#orphans,
      notes: this.#notes,
    };
  }
}

/** `name "a" -> "b", active true -> false`: the fields that differ, in the order of `after`. */
export function wordDifferences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string {
  return Object.entries(after)
    .filter(([field, value]) => word(before[field]) !== word(value))
    .map(([field, value]) => `${field} ${word(before[field])} -> ${word(value)}`)
    .join(', ');
}

function word(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (value instanceof Date) return value.toISOString().replace('.000Z', '+00:00');
  if (Array.isArray(value)) return `[${value.map(word).join(', ')}]`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `1 rule`, `2 rules`. */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
