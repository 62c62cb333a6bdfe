import { parseOrganisation } from './organisation.ts';
import { readObjects } from '../../operator/index.ts';
import type { FleetFile } from '../desired.ts';
import { type Mistake, MistakeList } from '../mistakes.ts';
import { NamedPorts } from './named-ports.ts';
import { Scope } from './scope.ts';
import { refuseOverlaps, refuseSharedNumbers } from './shared.ts';
import { type LoadedEggs, NO_EGGS, parseGameServers } from './game-servers.ts';
import type { FleetText } from '../schema/schema.ts';
import { checkSchema } from '../schema/check.ts';
import { type Environment, type Located, locateYaml } from '../read/yaml-source.ts';

export type FleetFileResult =
  | { readonly ok: true; readonly value: FleetFile }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/** A file that matches the schema; its eggs are read next. */
export interface CheckedFleet {
  readonly ok: true;
  readonly text: FleetText;
  /** The names of its eggs. */
  readonly eggs: readonly string[];
  readonly located: Located;
  readonly mistakes: MistakeList;
}

type Refused = Extract<FleetFileResult, { readonly ok: false }>;

/** Reads a fleet file's text as YAML that matches the schema, or returns all its mistakes. Pure. */
export function checkFleet(text: string, path: string, env: Environment): CheckedFleet | Refused {
  const mistakes = new MistakeList(path);
  const located = locateYaml(text, env, mistakes);
  const checked = located && checkSchema(located, mistakes);
  if (located === null || checked === null) return { ok: false, mistakes: mistakes.list() };
  const eggs = checked.game_servers?.map(({ egg }) => egg) ?? [];
  return { ok: true, text: checked, eggs, located, mistakes };
}

/** Parses a checked file with its eggs; returns what it wants, or all its mistakes. Pure. */
export function parseFleet(
  { text, located, mistakes }: CheckedFleet,
  path: string,
  eggs: LoadedEggs = NO_EGGS,
): FleetFileResult {
  const value = parseChecked(text, path, new Scope(located, mistakes), eggs);
  return mistakes.empty ? { ok: true, value } : { ok: false, mistakes: mistakes.list() };
}

function parseChecked(text: FleetText, path: string, scope: Scope, eggs: LoadedEggs): FleetFile {
  const asns = text.asns ?? [];
  scope.in('asns').unique(asns, String, '', 'The ASN');
  const operatorAsns = asns.map((asn, index) => ({ asn, at: scope.in('asns', index).at }));
  const organisations = Object.entries(text.organisations ?? {}).map(([slug, organisation]) =>
    parseOrganisation(slug, organisation, {
      scope: scope.in('organisations', slug),
      named: new NamedPorts(text.game_servers ?? [], slug),
      operatorAsns: asns,
    }),
  );
  refuseSharedNumbers({ organisations, operatorAsns }, scope);
  refuseOverlaps(organisations, scope);
  return {
    path,
    objects: readObjects(text, {
      at: (pointer) => scope.inside(pointer).at,
      refuse: (pointer, message) => scope.inside(pointer).refuse(message),
    }),
    asns: operatorAsns,
    organisations,
    gameServers: parseGameServers(text, organisations, eggs, scope),
  };
}
