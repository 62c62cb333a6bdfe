import { ConflictError, type KeyClient, NotFoundError } from '@portcullis/client/index.ts';
import { filesMessages } from '../../../../messages/files.ts';

/** A text as it lies on the disk, with the tag of its content; both null: there is no file. */
export interface Stored {
  readonly text: string | null;
  readonly etag: string | null;
}

/** The viewer's text, and what lies there instead of what was read. */
export interface Conflict {
  readonly mine: string;
  readonly theirs: Stored;
}

export type Saved =
  | { readonly kind: 'saved'; readonly now: Stored }
  /** Something else lies there than what was read, or was written at once over what was saved. */
  | { readonly kind: 'conflict'; readonly theirs: Stored };

interface Input {
  readonly slice: string;
  readonly path: string;
  readonly text: string;
  /** The content that was read: nothing else is replaced. */
  readonly over: Stored;
}

/** Saves a text, unless something else lies there than what it was made from. */
export async function saveFile(
  client: KeyClient,
  { slice, path, text, over }: Input,
): Promise<Saved> {
  const condition = over.etag === null ? { ifNoneMatch: '*' as const } : { ifMatch: over.etag };
  try {
    await client.writeFile({ slice, query: { path }, body: { content: text } }, condition);
  } catch (error) {
    if (!(error instanceof ConflictError) || error.code !== 'precondition_failed') throw error;
    return { kind: 'conflict', theirs: await readStored(client, slice, path) };
  }
  const now = await readStored(client, slice, path);
  return now.text === text ? { kind: 'saved', now } : { kind: 'conflict', theirs: now };
}

async function readStored(client: KeyClient, slice: string, path: string): Promise<Stored> {
  try {
    const { data, response } = await client.readFile({ slice, query: { path } });
    if (data.encoding !== 'utf-8') throw new Error(filesMessages.editor.becameBinary);
    return { text: data.content, etag: response.etag };
  } catch (error) {
    if (error instanceof NotFoundError) return { text: null, etag: null };
    throw error;
  }
}
