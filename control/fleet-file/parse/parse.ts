import { parseOrganisation } from './organisation.ts';
import { NOTHING_OUTSIDE, type Outside, readObjects } from '../../operator/index.ts';
import type { FleetFile, NamedEgg } from '../desired.ts';
import { type Mistake, MistakeList } from '../mistakes.ts';
import { NamedPorts } from './named-ports.ts';
import { Scope } from './scope.ts';
import { refuseOverlaps, refuseSharedNumbers } from './shared.ts';
import { checkServers } from './game-servers.ts';
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
  outside: Outside = NOTHING_OUTSIDE,
): FleetFileResult {
  const value = parseChecked(text, path, new Scope(located, mistakes), outside);
  return mistakes.empty ? { ok: true, value } : { ok: false, mistakes: mistakes.list() };
}

function parseChecked(text: FleetText, path: string, scope: Scope, outside: Outside): FleetFile {
  const asns = text.asns ?? [];
  scope.in('asns').unique(asns, String, '', 'The ASN');
  const operatorAsns = asns.map((asn, index) => ({ asn, at: scope.in('asns', index).at }));
  const places = {
    at: (pointer: string) => scope.inside(pointer).at,
    refuse: (pointer: string, message: string) => scope.inside(pointer).refuse(message),
  };
  const objects = readObjects(text, places, outside);
  const servers = objects.server.map(({ object }) => object);
  const organisations = Object.entries(text.organisations ?? {}).map(([slug, organisation]) =>
    parseOrganisation(slug, organisation, {
      scope: scope.in('organisations', slug),
      named: new NamedPorts(servers, slug),
      operatorAsns: asns,
    }),
  );
  refuseSharedNumbers({ organisations, operatorAsns }, scope);
  refuseOverlaps(organisations, scope);
  checkServers(servers, organisations, scope.in('game_servers'));
  return {
    path,
    objects,
    eggs: eggsOf(outside),
    asns: operatorAsns,
    organisations,
  };
}

/** The eggs that were found for the file, by the names in it. */
function eggsOf({ eggs }: Outside): NamedEgg[] {
  return [...eggs].flatMap(([name, file]) => (file.ok ? [{ name, found: file.found }] : []));
}
