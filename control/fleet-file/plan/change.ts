import type { ScopeSettings } from '@portcullis/core/attacks/scope-settings.ts';
import type { FilterContent, RuleContent } from '../../firewall/groups/index.ts';
import type { GeoContent } from '../../firewall/geo/index.ts';
import type {
  DesiredCollector,
  DesiredEdge,
  DesiredGameServer,
  DesiredKey,
  DesiredResponder,
  DesiredService,
  OrganisationLimits,
} from '../desired.ts';
import type { Mistake, Position } from '../mistakes.ts';

/** A holding by its row, or by what makes it when the plan is carried out. */
export type HoldingRef =
  | { readonly kind: 'existing'; readonly id: number }
  | {
      readonly kind: 'new';
      readonly organisation: string;
      readonly cidr: string;
      readonly since: Date;
    };

/** Whose thresholds and mitigation are said. */
export type DetectionPlace =
  | { readonly kind: 'organisation' }
  | { readonly kind: 'service'; readonly id: number }
  | { readonly kind: 'holding'; readonly ref: HoldingRef };

interface Told {
  /** `+` begins, `~` changes, `-` ends. */
  readonly sign: '+' | '~' | '-';
  /** What it is about, with its name: `organisation acme`. */
  readonly subject: string;
  /** What happens to it, in words; '' when the sign says it all. */
  readonly words: string;
  /** Null: of no organisation (baseline, edges). */
  readonly organisation: string | null;
  /** Where the file asks for it; its beginning, for what the file does not name any more. */
  readonly at: Position;
}

/** What the organisation of a row holds of itself. */
export interface OrganisationValues {
  readonly name: string;
  readonly flags: readonly string[];
  readonly limits: OrganisationLimits;
}

/** One step. Organisations are named by their short name: some have no row before the plan is carried out. */
export type FleetChange = Told &
  (
    | {
        readonly do: 'organisation.create' | 'organisation.update';
        readonly slug: string;
        readonly values: OrganisationValues;
      }
    | { readonly do: 'organisation.close'; readonly slug: string }
    | { readonly do: 'asn.add' | 'asn.remove'; readonly asn: number }
    | {
        readonly do: 'service.create' | 'service.update';
        readonly service: DesiredService;
        readonly refresh: boolean;
      }
    | { readonly do: 'service.close' | 'service.delete'; readonly id: number }
    | {
        readonly do: 'holding.create';
        readonly cidr: string;
        readonly since: Date;
        readonly until: Date | null;
        readonly asn: number | null;
        readonly serviceId: number | null;
      }
    | {
        readonly do: 'holding.change';
        readonly id: number;
        readonly cidr: string;
        readonly since: Date;
        readonly until: Date | null;
        readonly asn: number | null;
        readonly serviceId: number | null;
      }
    | { readonly do: 'holding.delete'; readonly id: number; readonly cidr: string }
    | { readonly do: 'key.create'; readonly key: DesiredKey }
    | { readonly do: 'key.update'; readonly id: number; readonly key: DesiredKey }
    | { readonly do: 'key.revoke'; readonly id: number }
    | {
        readonly do: 'group.create';
        readonly name: string;
        readonly rules: readonly RuleContent[];
        readonly filters: readonly FilterContent[];
      }
    | {
        readonly do: 'group.edit';
        readonly id: number;
        readonly addRules: readonly RuleContent[];
        readonly removeRules: readonly number[];
        readonly addFilters: readonly FilterContent[];
        readonly removeFilters: readonly number[];
      }
    | { readonly do: 'group.delete'; readonly id: number }
    | {
        readonly do: 'group.assign';
        readonly group: string;
        readonly target: string;
        readonly holding: HoldingRef;
      }
    | { readonly do: 'group.unassign'; readonly assignmentId: number; readonly target: string }
    | { readonly do: 'geo.create'; readonly key: string; readonly content: GeoContent }
    | { readonly do: 'geo.delete'; readonly id: number }
    | {
        readonly do: 'geo.assign';
        readonly key: string;
        readonly target: string;
        readonly holding: HoldingRef;
      }
    | { readonly do: 'geo.unassign'; readonly assignmentId: number; readonly target: string }
    | { readonly do: 'baseline.add'; readonly prefix: string; readonly rule: RuleContent }
    | { readonly do: 'baseline.remove'; readonly id: number; readonly prefix: string }
    | { readonly do: 'edge.create'; readonly edge: DesiredEdge }
    | { readonly do: 'edge.update'; readonly id: number; readonly edge: DesiredEdge }
    | { readonly do: 'edge.delete'; readonly id: number }
    | { readonly do: 'node.create'; readonly name: string }
    | { readonly do: 'node.delete'; readonly id: number }
    | { readonly do: 'server.create'; readonly server: DesiredGameServer }
    | {
        readonly do: 'server.update';
        readonly server: DesiredGameServer;
        /** It is built anew, because it is on another node now. */
        readonly rebuild: boolean;
        /** Players reach it elsewhere now. */
        readonly moved: boolean;
      }
    | { readonly do: 'server.delete'; readonly uuid: string }
    | {
        readonly do: 'detection.set';
        readonly of: DetectionPlace;
        readonly detection: ScopeSettings;
      }
    | { readonly do: 'collector.save'; readonly collector: DesiredCollector }
    | { readonly do: 'collector.delete'; readonly id: number }
    | { readonly do: 'responder.save'; readonly responder: DesiredResponder }
    | { readonly do: 'responder.delete'; readonly id: number }
  );

export interface FleetPlan {
  /** Of the file. */
  readonly path: string;
  /** In the order in which they are carried out. */
  readonly changes: readonly FleetChange[];
  /** What makes the plan impossible. Not empty: nothing may be applied. */
  readonly mistakes: readonly Mistake[];
  /** Live objects that would lose their holder: applied only when told. */
  readonly orphans: readonly Mistake[];
  /** What the operator should know though nothing is done about it. */
  readonly notes: readonly string[];
}
