import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ServerMount } from '@portcullis/core/game-servers/power.ts';
import { EngineError } from '../engine/engine.ts';

/** A folder of this host that its operator offers to servers. Control names folders, and this host decides about them. */
export interface OfferedMount {
  readonly path: string;
  /** Servers only read it, whatever control says. */
  readonly readOnly: boolean;
}

/** Folders of the kernel and of its devices, which are no data. */
const OF_KERNEL = ['/proc', '/sys', '/dev'];

/** Parses `/srv/maps:ro,/srv/shared`. Throws on anything else. */
export function parseMounts(text: string): OfferedMount[] {
  const items = text.split(',').map((item) => item.trim());
  return items.filter(Boolean).map((item) => {
    const [, path = '', mode] = /^(\/.*?)(?::(ro|rw))?$/.exec(item) ?? [];
    if (path === '') throw new Error(`${item} is no absolute path, with :ro or without`);
    return { path, readOnly: mode === 'ro' };
  });
}

/**
 * Throws for folders that must not be offered. One inside another is refused: a server that writes to the outer one could
 * replace the inner one by a link to anywhere.
 */
export function checkMounts(
  offered: readonly OfferedMount[],
  stateDir: string,
): readonly OfferedMount[] {
  const own = { path: resolve(stateDir), what: 'the data of the node' };
  const others = [own, ...OF_KERNEL.map((path) => ({ path, what: path }))];
  for (const [index, { path }] of offered.entries()) {
    if (path === '/' || resolve(path) !== path) {
      throw new Error(`${path} cannot be offered to servers: write the path of one folder`);
    }
    const earlier = offered.slice(0, index).map((one) => ({ path: one.path, what: one.path }));
    const other = [...others, ...earlier].find((one) => overlap(one.path, path));
    if (other !== undefined) {
      throw new Error(`${path} cannot be offered to servers: it overlaps with ${other.what}`);
    }
  }
  return offered;
}

function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}

/** The mounts of a server as this host allows them. Rejects with `refused` for one that it does not offer. */
export async function allowMounts(
  wanted: readonly ServerMount[],
  offered: readonly OfferedMount[],
): Promise<ServerMount[]> {
  const allowed: ServerMount[] = [];
  for (const mount of wanted) {
    const { source } = mount;
    const offer = offered.find(({ path }) => path === source);
    if (offer === undefined) {
      const message = `This node does not offer ${source} to servers: start it with --mounts ${source}.`;
      throw new EngineError('refused', message);
    }
    if (!(await isFolder(source))) {
      throw new EngineError('refused', `${source} is no folder of this node, or leads elsewhere.`);
    }
    allowed.push({ ...mount, readOnly: mount.readOnly || offer.readOnly });
  }
  return allowed;
}

/** A link in the path is not followed: the operator offered a place, and not where it leads. */
async function isFolder(path: string): Promise<boolean> {
  try {
    return (await realpath(path)) === path && (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
