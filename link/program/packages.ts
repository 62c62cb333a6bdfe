import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Manifest {
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Rooms that nothing imports at run time: the built portal is files, and the lab is for developers. */
const NOT_RUN = new Set(['lab', 'portal']);

/**
 * The folders of the packages that a checkout or an installed package runs: its rooms without the lab and the source of
 * the portal, and all that these depend on, resolved as Node resolves them. Absolute paths without symbolic links.
 */
export function findPackages(root: string): string[] {
  const found = new Set<string>();
  const { workspaces = [], optionalDependencies = {} } = readManifest(root);
  const rooms = workspaces.map((name) => join(root, name));
  const isNotRun = (folder: string): boolean =>
    rooms.includes(folder) && NOT_RUN.has(folder.slice(root.length + 1));
  const waiting = [
    ...rooms,
    ...Object.keys(optionalDependencies).flatMap((name) => resolve(root, root, name)),
  ];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (found.has(folder) || isNotRun(folder) || !existsSync(folder)) continue;
    found.add(folder);
    const { dependencies, optionalDependencies: optional, peerDependencies } = readManifest(folder);
    for (const name of Object.keys({ ...dependencies, ...optional, ...peerDependencies })) {
      waiting.push(...resolve(root, folder, name));
    }
  }
  return [...found].toSorted();
}

/** The folder of a dependency; none for an optional one of another platform. */
function resolve(root: string, from: string, name: string): string[] {
  for (let at = from; at.startsWith(root); at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return [realpathSync(folder)];
  }
  return [];
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}
