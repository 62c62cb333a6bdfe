import type { DesiredOrganisation, FleetFile } from '../desired.ts';
import { type Mistake, MistakeList, type Position } from '../mistakes.ts';
import type { FleetState } from '../state/state.ts';
import type { FleetChange, FleetPlan } from './change.ts';

/** The order of changes, so that each finds what it needs. Before all of them, kinds make way (`prepareChanges`). */
const ORDER: Readonly<Record<FleetChange['do'], number>> = {
  'organisation.create': 0,
  'organisation.update': 0,
  'group.unassign': 1,
  'geo.unassign': 1,
  'blocked.remove': 1,
  'group.delete': 2,
  'geo.delete': 2,
  'key.delete': 3,
  'server.delete': 3,
  'holding.delete': 4,
  'asn.create': 6,
  'asn.update': 6,
  'node.create': 6,
  'node.update': 6,
  'service.create': 7,
  'service.update': 7,
  'holding.update': 8,
  'holding.create': 9,
  'server.update': 9,
  'server.create': 9,
  'service.delete': 10,
  'asn.delete': 11,
  'group.create': 12,
  'group.edit': 12,
  'geo.create': 12,
  'group.assign': 13,
  'geo.assign': 13,
  'blocked.add': 13,
  'key.create': 14,
  'key.update': 14,
  'baseline.delete': 15,
  'baseline.create': 15,
  'baseline.update': 15,
  'edge.delete': 16,
  'edge.create': 16,
  'edge.update': 16,
  'node.delete': 17,
  'collector.delete': 16,
  'collector.create': 17,
  'collector.update': 17,
  'responder.delete': 16,
  'responder.create': 17,
  'responder.update': 17,
  'organisation.delete': 18,
};

/** A change without its position, which `add` takes apart. */
type ChangeWithoutPosition = FleetChange extends infer Each
  ? Each extends FleetChange
    ? Omit<Each, 'at'>
    : never
  : never;

/** A plan under construction: what the file wants, what the database has, and the changes found so far. */
export class PlanDraft {
  /** The position of mistakes about what the file does not name. */
  static readonly fileStart: Position = { line: 1, column: 1 };
  readonly file: FleetFile;
  readonly state: FleetState;
  /** The file's organisations, without those that belong to the portal: they are refused once, with all they contain. */
  readonly organisations: readonly DesiredOrganisation[];
  readonly #slugs: ReadonlyMap<number, string>;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #changes: FleetChange[] = [];
  readonly #mistakes: MistakeList;
  readonly #losses: Mistake[] = [];
  readonly #notes: string[] = [];

  constructor(file: FleetFile, state: FleetState) {
    this.file = file;
    this.state = state;
    this.#mistakes = new MistakeList(file.path);
    const { organisation: stored } = state.objects;
    this.#slugs = new Map(stored.map(({ id, object }) => [id, object.slug]));
    this.#ids = new Map(stored.map(({ id, object }) => [object.slug, id]));
    const portal = stored.filter(({ owner }) => owner === 'portal');
    const refused = new Set(portal.map(({ object }) => object.slug));
    this.organisations = file.organisations.filter(({ slug, at }) => {
      if (refused.has(slug)) this.refusePortal(at, `The organisation ${slug}`);
      return !refused.has(slug);
    });
  }

  slugOf(organisationId: number | null): string {
    return this.#slugs.get(organisationId ?? 0) ?? '';
  }

  /** The id of an organisation that exists. */
  idOf(slug: string): number | undefined {
    return this.#ids.get(slug);
  }

  /** `at`: the entry of the file that asks for the change. */
  add(change: ChangeWithoutPosition, at: Position = PlanDraft.fileStart): void {
    this.#changes.push({ ...change, at });
  }

  refuse(at: Position, message: string): void {
    this.#mistakes.add(at, message);
  }

  /** For an object that was made by hand, in the portal or by a command. */
  refusePortal(at: Position, subject: string): void {
    this.refuse(
      at,
      `${subject} was made by hand, not by a fleet file: --adopt hands it to this one.`,
    );
  }

  /** Applied only with `--force`: protection, access or files would end with it. */
  lose(at: Position, message: string): void {
    this.#losses.push({ file: this.file.path, line: at.line, column: at.column, message });
  }

  note(message: string): void {
    this.#notes.push(message);
  }

  finish(): FleetPlan {
    return {
      path: this.file.path,
      changes: this.#changes.toSorted((a, b) => ORDER[a.do] - ORDER[b.do]),
      mistakes: this.#mistakes.list(),
      losses: this.#losses,
      notes: this.#notes,
    };
  }
}

interface Matching<Wanted, Row> {
  readonly wanted: readonly Wanted[];
  readonly rows: readonly Row[];
  /** `group web`, for messages. */
  readonly subjectOf: (wanted: Wanted) => string;
  readonly wantedKey: (wanted: Wanted) => string;
  readonly rowKey: (row: Row) => string;
  /** `row` is undefined when the database has none. */
  readonly save: (wanted: Wanted, row: Row | undefined) => void;
  /** Called for rows of the fleet file that the file no longer names. */
  readonly remove: (row: Row) => void;
}

/** Matches entries of the file with rows by key, and refuses entries whose row belongs to the portal. */
export function planMatching<
  Wanted extends { readonly at: Position },
  Row extends { readonly owner: string },
>(
  draft: PlanDraft,
  { wanted, rows, subjectOf, wantedKey, rowKey, save, remove }: Matching<Wanted, Row>,
): void {
  const left = new Map(rows.map((row) => [rowKey(row), row]));
  for (const entry of wanted) {
    const row = left.get(wantedKey(entry));
    left.delete(wantedKey(entry));
    if (row?.owner === 'portal') draft.refusePortal(entry.at, `The ${subjectOf(entry)}`);
    else save(entry, row);
  }
  for (const row of left.values()) if (row.owner === 'fleet') remove(row);
}

/** `name "a" -> "b", active true -> false`: the fields that differ, in the order of `after`. */
export function describeDifferences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string {
  return Object.entries(after)
    .filter(([field, value]) => describeValue(before[field]) !== describeValue(value))
    .map(([field, value]) => `${field} ${describeValue(before[field])} -> ${describeValue(value)}`)
    .join(', ');
}

export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (value instanceof Date) return value.toISOString().replace('.000Z', '+00:00');
  if (Array.isArray(value)) return `[${value.map(describeValue).join(', ')}]`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
