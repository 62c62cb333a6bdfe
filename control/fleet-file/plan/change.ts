import type { WantedFilter, WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import type { GroupEdit } from '../../firewall/groups/index.ts';
import type { GeoContent } from '../../firewall/geo/index.ts';
import type { KindName, ObjectChange } from '../../operator/index.ts';
import type { Mistake, Position } from '../mistakes.ts';

/** A holding by its row, or by the change that creates it. */
export type HoldingRef =
  | { readonly kind: 'existing'; readonly id: number }
  | {
      readonly kind: 'new';
      readonly organisation: string;
      readonly cidr: string;
      readonly since: Date;
    };

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

interface NewAssignment {
  /** The group's name, or the geo rule's key. */
  readonly key: string;
  readonly target: string;
  readonly holding: HoldingRef;
}

interface EndedAssignment {
  readonly assignmentId: number;
  readonly target: string;
}

/** One change. It names organisations by slug, because some have no row before the plan is applied. */
export type FleetChange = ChangeDescription &
  (
    | {
        readonly do: 'group.create';
        readonly name: string;
        readonly rules: readonly WantedRule[];
        readonly filters: readonly WantedFilter[];
      }
    | ({ readonly do: 'group.edit'; readonly id: number } & Required<Omit<GroupEdit, 'name'>>)
    | { readonly do: 'group.delete'; readonly id: number }
    | (NewAssignment & { readonly do: 'group.assign' })
    | (NewAssignment & { readonly do: 'geo.assign' })
    | (EndedAssignment & { readonly do: 'group.unassign' })
    | (EndedAssignment & { readonly do: 'geo.unassign' })
    | {
        readonly do: 'blocked.add' | 'blocked.remove';
        /** Null, as its target: on everything that the organisation holds. */
        readonly holding: HoldingRef | null;
        readonly target: string | null;
        readonly sources: readonly string[];
        readonly note: string;
      }
    | { readonly do: 'geo.create'; readonly key: string; readonly content: GeoContent }
    | { readonly do: 'geo.delete'; readonly id: number }
    | (Pick<ObjectChange, 'kind' | 'object' | 'before'> & { readonly do: ObjectAction })
  );

/** A change of an object of a kind of `control/operator`. */
export type ObjectAction = `${KindName}.${'create' | 'update' | 'delete'}`;

/** A change of one kind. */
export type Change<Kind extends FleetChange['do']> = Extract<FleetChange, { readonly do: Kind }>;

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
