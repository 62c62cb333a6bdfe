import { BASELINE } from '@portcullis/contract/schemas/declared/baseline.ts';
import { COLLECTOR } from '@portcullis/contract/schemas/declared/collector.ts';
import { BLOCKED_LIST } from '@portcullis/contract/schemas/declared/blocked-list.ts';
import { pathNames } from '@portcullis/contract/schemas/declared/declared-kind.ts';
import { DETECTION } from '@portcullis/contract/schemas/declared/detection.ts';
import { EDGE } from '@portcullis/contract/schemas/declared/edge.ts';
import { GEO_RULE } from '@portcullis/contract/schemas/declared/geo-rule.ts';
import { GROUP } from '@portcullis/contract/schemas/declared/group.ts';
import { HOLDING } from '@portcullis/contract/schemas/declared/holding.ts';
import { NODE } from '@portcullis/contract/schemas/declared/node.ts';
import { RESPONDER } from '@portcullis/contract/schemas/declared/responder.ts';
import { SERVICE } from '@portcullis/contract/schemas/declared/service.ts';
import {
  Ban,
  Boxes,
  Globe2,
  Layers,
  type LucideIcon,
  Network,
  Radar,
  Server,
  ShieldCheck,
  ShieldHalf,
  Webhook,
} from 'lucide-react';
import { textOf } from './form-draft.ts';
import type { FieldTerms } from './form-fields.ts';

/** An object of a kind, as it is answered. */
export interface DeclaredObject {
  readonly [field: string]: unknown;
  readonly owner: string;
}

/** The parts of a kind of the contract that a form needs. */
export interface Kind {
  readonly name: string;
  readonly title: string;
  readonly plural: string;
  readonly path: string;
  readonly isNumbered?: true;
  readonly about: string;
  readonly schema: object;
}

/** A kind as the page shows it. The words of `operatorDeclaredMessages` take the place of those of the contract. */
export interface KindRow extends FieldTerms {
  readonly kind: Kind;
  readonly icon: LucideIcon;
  /** The name of an object, for people; its default is the last field of its path. */
  nameOf?(object: DeclaredObject): string;
}

/** Fields of the card of thresholds. */
const DETECTED = Object.keys(DETECTION);

/** Kinds with a list of their own. One whose path names an organisation is listed at that. */
export const KIND_ROWS: readonly KindRow[] = [
  {
    kind: SERVICE,
    icon: Boxes,
    omitted: DETECTED,
    nameOf: ({ id, name }) => `#${String(id)} ${String(name)}`,
  },
  { kind: BASELINE, icon: ShieldCheck },
  // A command runs on the host of control, so only the fleet file may name one.
  {
    kind: RESPONDER,
    icon: Webhook,
    secrets: ['secret'],
    omitted: ['command'],
    required: ['webhook'],
  },
  { kind: GROUP, icon: Layers },
  {
    kind: GEO_RULE,
    icon: Globe2,
    nameOf: ({ action, countries, asns }) =>
      [action, ...textsOf(countries), ...textsOf(asns).map((asn) => `AS${asn}`)].join(' '),
  },
  { kind: BLOCKED_LIST, icon: Ban },
];

/** A holding, which is given and ended in its own list. */
export const HOLDING_ROW: KindRow = {
  kind: HOLDING,
  icon: Network,
  omitted: DETECTED,
  nameOf: ({ prefix }) => String(prefix),
};

/** Hosts, which are listed with what they report. */
export const HOST_ROWS = {
  edges: { kind: EDGE, icon: ShieldHalf },
  nodes: { kind: NODE, icon: Server },
  collectors: { kind: COLLECTOR, icon: Radar },
} as const satisfies Readonly<Record<string, KindRow>>;

/** The kinds that are listed at organisations, or those of the whole fleet. */
export function rowsOf(place: 'organisation' | 'fleet'): readonly KindRow[] {
  return KIND_ROWS.filter(
    ({ kind }) => pathNames(kind.path).includes('organisation') === (place === 'organisation'),
  );
}

export function nameOf({ kind, nameOf: own }: KindRow, object: DeclaredObject): string {
  return own?.(object) ?? textOf(object[pathNames(kind.path).at(-1) ?? '']);
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.map(String) : [];
}
