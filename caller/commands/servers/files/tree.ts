import type { FileEntry } from '@portcullis/client/generated/operations.ts';
import { NotFoundError } from '@portcullis/client/errors.ts';
import type { KeyClient } from '@portcullis/client/types.ts';

const PAGE = 1_000;

/** The entries of a folder, by pages. */
export async function* listFolder(
  client: KeyClient,
  slice: string,
  path: string,
): AsyncGenerator<FileEntry> {
  for (let page = 1; ; page += 1) {
    const query = { path, page, per_page: PAGE };
    const { data, meta } = await client.listFiles({ slice, query });
    yield* data;
    if (data.length === 0 || page * PAGE >= meta.total) return;
  }
}

/** The regular files below a folder that may be read; none where there is no folder. */
export async function listTree(
  client: KeyClient,
  slice: string,
  path: string,
): Promise<readonly FileEntry[]> {
  const files: FileEntry[] = [];
  const folders = [path];
  try {
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for await (const entry of listFolder(client, slice, folder)) {
        if (entry.denied) continue;
        if (entry.type === 'folder') folders.push(entry.path);
        else if (entry.type === 'file') files.push(entry);
      }
    }
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  return files;
}
