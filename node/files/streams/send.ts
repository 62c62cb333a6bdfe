import { PassThrough, Readable } from 'node:stream';
import { formatPath } from '@portcullis/core/game-servers/files/path.ts';
import type { FileAnswerOf, FileOperationOf, FileRange } from '@portcullis/link/messages/files.ts';
import type { OpenFile } from '../../server-folder/folder.ts';
import { packInto } from '../archives/pack.ts';
import type { Gate } from '../gate.ts';
import { requirePresent } from '../operations/change.ts';
import { tagOfFile } from '../operations/content.ts';
import { momentOf } from '../operations/describe.ts';
import { pathOf } from '../operations/list.ts';
import { FileRefusal, notFound } from '../refusal.ts';
import { type StreamEnd, sendStream, type StreamOf, type StreamRoute } from './connect.ts';

/** Bytes that one call of the kernel reads. */
const CHUNK = 512 * 1024;

/** A file, or the part of it that is sent; null: an archive, of which nothing is known before. */
type Sent = FileAnswerOf<'sending'>['file'];

/** Where the bytes of a download go. */
export interface Destination extends StreamEnd {
  send(sent: Sent, source: Readable, signal: AbortSignal): Promise<void>;
}

/** The replica of control that waits with a ticket. */
export function toControl(route: StreamRoute, of: StreamOf): Destination {
  return {
    id: of.ticket.id,
    isDirect: false,
    send: (sent, source, signal) =>
      sendStream(route, of, { source, length: sent?.length ?? null, signal }),
  };
}

/** Begins to send a file, or a part of it. */
export async function sendFile(
  gate: Gate,
  operation: Pick<FileOperationOf<'send'>, 'path' | 'range'> & {
    /** Whether the range is meant of a file with this tag; default: of each. */
    readonly isMeant?: (tag: string) => boolean;
  },
  to: Destination,
): Promise<FileAnswerOf<'sending'>> {
  const { transfers, owner } = gate.files;
  transfers.requireRoom();
  const place = await gate.place(pathOf(operation.path), 'file.read-content');
  return gate.about(place.path, async () => {
    const opened = await place.folder.openFile(place.name, owner);
    if (opened === null) throw notFound(formatPath(place.path));
    const file = await describeSent(opened, operation).catch(async (error: unknown) => {
      await opened.handle.close();
      throw error;
    });
    const { offset, length } = file;
    const work = async (signal: AbortSignal): Promise<null> => {
      try {
        const source = Readable.from(readPart(opened, offset, length));
        await to.send(file, source, signal);
        return null;
      } finally {
        await opened.handle.close();
      }
    };
    gate.beginStream(to, { key: null, right: 'file.read-content' }, work);
    return { kind: 'sending', file };
  });
}

async function describeSent(
  file: OpenFile,
  { range, isMeant }: Parameters<typeof sendFile>[1],
): Promise<NonNullable<FileAnswerOf<'sending'>['file']>> {
  const size = Number(file.stat.size);
  const tag = await tagOfFile(file);
  const part = isMeant?.(tag) === false ? null : range;
  return { tag, size, modifiedAtMs: momentOf(file.stat), ...partOf(size, part) };
}

/** The part of a file that a range names. Throws a refusal for one behind its end. */
function partOf(
  size: number,
  range: FileRange | null,
): { readonly offset: number; readonly length: number } {
  // Nothing is a part of nothing.
  if (range === null || size === 0) return { offset: 0, length: size };
  const { start, end } = range;
  if (start === null) {
    const length = Math.min(end ?? 0, size);
    if (length > 0) return { offset: size - length, length };
  } else if (start < size) {
    return { offset: start, length: Math.min(end ?? size, size - 1) - start + 1 };
  }
  throw new FileRefusal('range', `The file has ${size} bytes.`);
}

/** A file that is cut off meanwhile ends the stream, which is known to be too short then. */
async function* readPart(
  { handle }: OpenFile,
  offset: number,
  length: number,
): AsyncGenerator<Buffer> {
  for (let at = 0; at < length; ) {
    const wanted = Math.min(CHUNK, length - at);
    // Not used again: it waits in a socket.
    const bytes = Buffer.allocUnsafeSlow(wanted);
    const { bytesRead } = await handle.read(bytes, 0, wanted, offset + at);
    if (bytesRead === 0) throw new FileRefusal('changed', 'The file became shorter meanwhile.');
    at += bytesRead;
    yield bytes.subarray(0, bytesRead);
  }
}

/** Begins to send an archive of files and folders. */
export async function sendArchive(
  gate: Gate,
  operation: Pick<FileOperationOf<'pack'>, 'paths' | 'format'>,
  to: Destination,
): Promise<FileAnswerOf<'sending'>> {
  const { format } = operation;
  const { transfers } = gate.files;
  transfers.requireRoom();
  const paths = operation.paths.map(pathOf);
  for (const path of paths) await requirePresent(await gate.place(path, 'file.read-content'));
  const work = async (signal: AbortSignal): Promise<null> => {
    const source = new PassThrough({ highWaterMark: CHUNK });
    const none = (): void => {};
    const job = { server: gate.files.uuid, signal, add: none, expect: none, note: none };
    const sent = to.send(null, source, signal);
    sent.catch((error: unknown) => source.destroy(error as Error));
    await Promise.all([packInto(gate, { paths, format }, source, job), sent]);
    return null;
  };
  gate.beginStream(to, { key: null, right: 'file.read-content' }, work);
  return { kind: 'sending', file: null };
}
