import { withNamedPorts } from './organisation.ts';
import { NOTHING_OUTSIDE, type Outside, readObjects } from '../../index.ts';
import type { FleetFile, NamedEgg } from '../desired.ts';
import { type Mistake, MistakeList } from '../mistakes.ts';
import { NamedPorts } from './named-ports.ts';
import { Scope } from './scope.ts';
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
  const completed: Record<string, object> = {};
  for (const [slug, organisation] of Object.entries(text.organisations ?? {})) {
    const of = scope.in('organisations', slug);
    const named = new NamedPorts(text.game_servers ?? [], slug);
    completed[slug] = withNamedPorts(organisation, named, of);
  }
  const places = {
    at: (pointer: string) => scope.inside(pointer).at,
    refuse: (pointer: string, message: string) => scope.inside(pointer).refuse(message),
  };
  return {
    path,
    objects: readObjects({ ...text, organisations: completed }, places, outside),
    eggs: eggsOf(outside),
  };
}

/** The eggs that were found for the file, by the names in it. */
function eggsOf({ eggs }: Outside): NamedEgg[] {
  return [...eggs].flatMap(([name, file]) => (file.ok ? [{ name, found: file.found }] : []));
}
