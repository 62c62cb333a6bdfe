import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FolderOwner } from '../../folder-owner.ts';

/** A file of this host that a container sees read-only. */
export interface ReadOnlyFile {
  readonly source: string;
  readonly target: string;
}

/**
 * Who a game is, in the files that programs ask: its account, which images do not know, and a machine id of its own
 * (Hytale ties its tokens to it). The same content as Wings gives.
 */
export class Identities {
  readonly #root: string;

  constructor(stateDir: string) {
    this.#root = join(stateDir, 'identities');
  }

  async write(uuid: string, { uid, gid }: FolderOwner): Promise<readonly ReadOnlyFile[]> {
    const contents = {
      passwd: `container:x:${uid}:${gid}::/home/container:/usr/sbin/nologin\n`,
      group: `container:x:${gid}:container\n`,
      'machine-id': `${uuid.replaceAll('-', '')}\n`,
    };
    const folder = join(this.#root, uuid);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const entries = Object.entries(contents);
    for (const [name, content] of entries) await writeFile(join(folder, name), content);
    return entries.map(([name]) => ({ source: join(folder, name), target: `/etc/${name}` }));
  }

  remove(uuid: string): Promise<void> {
    return rm(join(this.#root, uuid), { recursive: true, force: true });
  }
}
