import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const BELOW_CLI = [
  'contract',
  'core',
  'link',
  'control',
  'agent',
  'dataplane',
  'edge',
  'collector',
  'node',
  'client',
  'caller',
] as const;

/** The rooms (npm workspaces) that a room may import. Tests may import more: they play the other side. */
export const MAY_IMPORT = {
  contract: [],
  core: [],
  link: ['core'],
  control: ['contract', 'core', 'link'],
  agent: ['core', 'link'],
  dataplane: ['core'],
  edge: ['core', 'link', 'agent', 'dataplane'],
  collector: ['core', 'link', 'agent'],
  node: ['core', 'link', 'agent'],
  client: ['contract'],
  caller: ['client', 'core'],
  portal: ['client', 'contract', 'core'],
  cli: BELOW_CLI,
  lab: [...BELOW_CLI, 'portal', 'cli'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Room = keyof typeof MAY_IMPORT;
export const ROOMS = Object.keys(MAY_IMPORT) as Room[];

export const root = join(import.meta.dirname, '..', '..');

/** Every TypeScript file of the rooms, as a path from the root. */
export const files: readonly string[] = ROOMS.flatMap((room) =>
  globSync(`${room}/**/*.{ts,tsx}`, {
    cwd: root,
    // Built packages are no sources of ours.
    exclude: (path) => /node_modules|(?:^|\/)dist(?:\/|$)/.test(path),
  }),
);

export function isTestCode(file: string): boolean {
  return /(?:\.test|(?:^|[-/])suite|(?:^|[-/])testing)\.ts$|\/testing\//.test(file);
}

export const production: readonly string[] = files.filter((file) => !isTestCode(file));

export function roomOf(file: string): Room {
  return file.split(sep)[0] as Room;
}

/** The specifiers of all static, dynamic and type imports of a file. */
export function importsOf(file: string): string[] {
  const found = withoutComments(file).matchAll(
    /(?:^|[;}\s])(?:import|from)\s*\(?\s*'((?:\.|@|node:|[a-z])[^'\s]*)'/g,
  );
  return [...found].map((match) => match[1] ?? '');
}

export function withoutComments(file: string): string {
  return readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

/** The path from the root that a relative specifier names. */
export function resolved(file: string, specifier: string): string {
  return relative(root, join(root, dirname(file), specifier));
}

/** Returns null for an import of another package. */
export function importedRoom(file: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return roomOf(resolved(file, specifier));
  return /^@portcullis\/([^/]+)/.exec(specifier)?.[1] ?? null;
}

/** The files of the rooms that a file imports. */
export function importedFiles(file: string): string[] {
  return importsOf(file).flatMap((specifier) => {
    if (specifier.startsWith('.')) return [resolved(file, specifier)];
    const path = /^@portcullis\/(.+)/.exec(specifier)?.[1];
    return path === undefined ? [] : [path];
  });
}
