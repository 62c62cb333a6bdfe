import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FolderOwner } from '../../folder-owner.ts';

/** A file of this host that a container sees read-only. */
export interface ReadOnlyFile {
  readonly source: string;
  readonly target: string;
}

/** The files of the agent that the containers of each server see. */
export class ReadOnlyFiles {
  readonly #root: string;

  constructor(stateDir: string) {
    this.#root = join(stateDir, 'identities');
  }

  /** `contents` by the path in the container. */
  async write(
    uuid: string,
    contents: Readonly<Record<string, string>>,
  ): Promise<readonly ReadOnlyFile[]> {
    const folder = join(this.#root, uuid);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const files = Object.keys(contents).map((target) => ({
      source: join(folder, basename(target)),
      target,
    }));
    for (const { source, target } of files) await writeFile(source, contents[target] ?? '');
    return files;
  }

  remove(uuid: string): Promise<void> {
    return rm(join(this.#root, uuid), { recursive: true, force: true });
  }
}

/**
 * The identity that programs of a game ask for: its account, which images do not know, and a machine id of its own
 * (Hytale ties its tokens to it). The same content as Wings gives.
 */
export function identityOf(uuid: string, { uid, gid }: FolderOwner): Record<string, string> {
  return {
    '/etc/passwd': `container:x:${uid}:${gid}::/home/container:/usr/sbin/nologin\n`,
    '/etc/group': `container:x:${gid}:container\n`,
    '/etc/machine-id': `${uuid.replaceAll('-', '')}\n`,
  };
}
