import type { KindName, ObjectChange } from '../../index.ts';
import type { Mistake, Position } from '../mistakes.ts';

interface ChangeDescription {
  /** `+` creates, `~` changes, `-` deletes or ends. */
  readonly sign: '+' | '~' | '-';
  /** The object with its name: `organisation acme`. */
  readonly subject: string;
  /** Words on what changes; '' when the sign says everything. */
  readonly words: string;
  /** Null for objects of no organisation (baseline, edges). */
  readonly organisation: string | null;
  /** The position in the file that asks for it, or the file's start when the file no longer names the object. */
  readonly at: Position;
}

/** One change. It names organisations by slug, because some have no row before the plan is applied. */
export interface FleetChange
  extends ChangeDescription,
    Pick<ObjectChange, 'kind' | 'object' | 'before'> {
  readonly do: ObjectAction;
}

/** A change of an object of a kind of `control/operator`. */
export type ObjectAction = `${KindName}.${'create' | 'update' | 'delete'}`;

export interface FleetPlan {
  /** The file's path. */
  readonly path: string;
  /** In the order of application. */
  readonly changes: readonly FleetChange[];
  /** Reasons why the plan cannot be applied. */
  readonly mistakes: readonly Mistake[];
  /** Objects that would end or be lost: applied only with `--force`. */
  readonly losses: readonly Mistake[];
  /** Facts that the operator should know and that change nothing. */
  readonly notes: readonly string[];
}
