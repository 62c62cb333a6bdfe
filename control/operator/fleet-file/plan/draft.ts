import { type Kind, KINDS } from '../../index.ts';
import type { FleetFile } from '../desired.ts';
import { type Mistake, MistakeList, type Position } from '../mistakes.ts';
import type { FleetState } from '../state/state.ts';
import type { FleetChange, FleetPlan } from './change.ts';

const RANKS = new Map<string, number>(KINDS.map(({ name }, rank) => [name, rank]));
const REFERRED_TO = new Set(
  (KINDS as readonly Kind[]).flatMap(({ refersTo }) => refersTo.map(({ kind }) => kind)),
);

/**
 * The place of a change among all, so that each finds what it needs: first what nothing refers to is removed, then every
 * kind is changed and created, behind those that it refers to, and at last what was referred to is removed. What a change
 * leaves is free for a new object. Before all of them, kinds make way (`prepareChanges`).
 */
function placeOf({ kind, sign }: FleetChange): number {
  const rank = RANKS.get(kind) ?? 0;
  const { length } = KINDS;
  if (sign === '-') return REFERRED_TO.has(kind) ? 4 * length - rank : -rank;
  return length + 2 * rank + (sign === '+' ? 1 : 0);
}

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
      changes: this.#changes.toSorted((a, b) => placeOf(a) - placeOf(b)),
      mistakes: this.#mistakes.list(),
      losses: this.#losses,
      notes: this.#notes,
    };
  }
}
