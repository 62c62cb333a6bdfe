import type { Egg, EggImage } from '../egg.ts';

/** A part of an egg that another has otherwise. Null: there is none. */
export interface EggDifference {
  /** Such as `startup`, or `variables.MOTD`. */
  readonly field: string;
  /** Texts of one or several lines. */
  readonly before: string | null;
  readonly after: string | null;
}

/** The differences between two eggs, in the order in which a reader of eggs looks for them. */
export function differencesOf(before: Egg, after: Egg): EggDifference[] {
  const [was, is] = [partsOf(before), partsOf(after)];
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((field) => was.get(field) !== is.get(field))
    .map((field) => ({ field, before: was.get(field) ?? null, after: is.get(field) ?? null }));
}

function partsOf(egg: Egg): ReadonlyMap<string, string> {
  const { install } = egg;
  const parts: readonly (readonly [string, string | null])[] = [
    ['name', egg.name],
    ['description', egg.description],
    ['images', egg.images.map(imageLine).join('\n')],
    ['startup', egg.startup],
    ['launch', egg.launch],
    ['done', egg.done.map(({ kind, pattern }) => `${kind}: ${pattern}`).join('\n')],
    ['stop', JSON.stringify(egg.stop)],
    ['stop_times', JSON.stringify(egg.stopTimes)],
    ['install.image', install && imageLine(install.image)],
    ['install.entrypoint', install && install.entrypoint],
    ['install.script', install && install.script],
    ...egg.variables.map(({ env, ...rest }) => [`variables.${env}`, lines(rest)] as const),
    ...egg.configFiles.map(
      ({ path, parser, replacements }) =>
        [
          `files.${path}`,
          [parser, ...replacements.map((one) => JSON.stringify(one))].join('\n'),
        ] as const,
    ),
    ['capabilities', egg.capabilities.join('\n')],
    ['protocols', egg.protocols.join('\n')],
    ['filters', egg.filters.join('\n')],
    ['file_denylist', egg.fileDenylist.join('\n')],
  ];
  return new Map(parts.filter((part): part is [string, string] => Boolean(part[1])));
}

function imageLine({ label, reference, local }: EggImage): string {
  return `${label}: ${local ? '~' : ''}${reference}`;
}

/** `name: Players`, a line for each member. */
function lines(object: Readonly<Record<string, unknown>>): string {
  return Object.entries(object)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join('|') : String(value)}`)
    .join('\n');
}
