import type { Current, Kind } from './kind.ts';
import { baseline } from './kinds/baseline.ts';
import { collector } from './kinds/collector.ts';
import { edge } from './kinds/edge.ts';
import { node } from './kinds/node.ts';
import { responder } from './kinds/responder.ts';

/** Every kind of object that an operator declares. A kind stands behind those that it refers to. */
export const KINDS = [node, baseline, edge, collector, responder] as const;

type AnyKind = (typeof KINDS)[number];
export type KindName = AnyKind['name'];
type KindOf<Name extends KindName> = Extract<AnyKind, { readonly name: Name }>;
export type ObjectOf<Name extends KindName> =
  KindOf<Name> extends Kind<infer T, infer _> ? T : never;

/** The stored objects of every kind, in the order of their keys. */
export type StoredObjects = {
  readonly [Name in KindName]: readonly Current<ObjectOf<Name>>[];
};

export function kindNamed(name: string): Kind | undefined {
  return (KINDS as readonly Kind[]).find((kind) => kind.name === name);
}
