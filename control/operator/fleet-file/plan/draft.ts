import type { FleetFile } from '../desired.ts';
import { type Mistake, MistakeList, type Position } from '../mistakes.ts';
import type { FleetState } from '../state/state.ts';
import type { FleetChange, FleetPlan } from './change.ts';

/** The order of changes, so that each finds what it needs. Before all of them, kinds make way (`prepareChanges`). */
const ORDER: Readonly<Record<FleetChange['do'], number>> = {
  'organisation.create': 0,
  'organisation.update': 0,
  'blocked-list.delete': 1,
  'group.delete': 2,
  'geo-rule.delete': 2,
  'key.delete': 3,
  'server.delete': 3,
  'holding.delete': 4,
  'asn.create': 6,
  'asn.update': 6,
  'library-egg.create': 6,
  'library-egg.update': 6,
  'library-egg.delete': 6,
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
  // What changed groups and geo rules leave is free for new ones.
  'group.update': 12,
  'geo-rule.update': 12,
  'group.create': 13,
  'geo-rule.create': 13,
  'blocked-list.create': 13,
  'blocked-list.update': 13,
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

/** A plan under construction: what the file wants, what the database has, and the changes found so far. */
export class PlanDraft {
  /** The position of mistakes about what the file does not name. */
  static readonly fileStart: Position = { line: 1, column: 1 };
  readonly file: FleetFile;
  readonly state: FleetState;
  /** The file's organisations, without those that belong to the portal: they are refused once, with all they contain. */
  readonly organisations: FleetFile['objects']['organisation'];
  readonly #changes: FleetChange[] = [];
  readonly #mistakes: MistakeList;
  readonly #losses: Mistake[] = [];
  readonly #notes: string[] = [];

  constructor(file: FleetFile, state: FleetState) {
    this.file = file;
    this.state = state;
    this.#mistakes = new MistakeList(file.path);
    const { organisation: stored } = state.objects;
    const portal = stored.filter(({ owner }) => owner === 'portal');
    const refused = new Set(portal.map(({ object }) => object.slug));
    this.organisations = file.objects.organisation.filter(({ object: { slug }, at }) => {
      if (refused.has(slug)) this.refusePortal(at, `The organisation ${slug}`);
      return !refused.has(slug);
    });
  }

  /** `at`: the entry of the file that asks for the change. */
  add(change: Omit<FleetChange, 'at'>, at: Position = PlanDraft.fileStart): void {
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
