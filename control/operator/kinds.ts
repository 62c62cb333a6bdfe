import type { Current, Kind } from './kind.ts';
import { blockedList } from './kinds/blocked-list.ts';
import { asn } from './kinds/asn.ts';
import { baseline } from './kinds/baseline.ts';
import { collector } from './kinds/collector.ts';
import { edge } from './kinds/edge.ts';
import { geoRule } from './kinds/geo-rule.ts';
import { group } from './kinds/group.ts';
import { holding } from './kinds/holding.ts';
import { server } from './kinds/game-server.ts';
import { key } from './kinds/key.ts';
import { node } from './kinds/node.ts';
import { libraryEgg } from './library/library-egg.ts';
import { organisation } from './kinds/organisation.ts';
import { responder } from './kinds/responder.ts';
import { service } from './kinds/service.ts';

/**
 * Every kind of object that an operator declares. A kind stands behind those that it refers to: changes are made in this
 * order, and removals in the reverse one.
 */
export const KINDS = [
  organisation,
  asn,
  node,
  libraryEgg,
  service,
  holding,
  server,
  group,
  geoRule,
  blockedList,
  key,
  baseline,
  edge,
  collector,
  responder,
] as const;

type AnyKind = (typeof KINDS)[number];
export type KindName = AnyKind['name'];
type KindOf<Name extends KindName> = Extract<AnyKind, { readonly name: Name }>;
export type ObjectOf<Name extends KindName> =
  KindOf<Name> extends Kind<infer T, infer _> ? T : never;

type FactsOf<Name extends KindName> = KindOf<Name> extends Kind<infer _, infer F> ? F : never;

/** The stored objects of every kind, in the order of their keys. */
export type StoredObjects = {
  readonly [Name in KindName]: readonly Current<ObjectOf<Name>, FactsOf<Name>>[];
};

export function kindNamed(name: string): Kind | undefined {
  return (KINDS as readonly Kind[]).find((kind) => kind.name === name);
}
