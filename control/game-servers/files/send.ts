import { pipeline, Readable, Transform } from 'node:stream';
import {
  headOfArchive,
  headOfFile,
  rangeOf,
} from '@portcullis/core/game-servers/files/download-headers.ts';
import { bytesTag } from '@portcullis/link/file-tags.ts';
import { namesTag } from '../../http/operations/etag.ts';
import type { CallOf } from '../../http/operations/handlers.ts';
import type { BytesAnswer } from '../../http/operations/operation.ts';
import { streamTurns } from '../../http/streams/turns.ts';
import type { ServerCall } from '../require-server.ts';
import type { ServerRow } from '../store.ts';
import { askNode, expectAnswer, loadReady } from './ask.ts';
import { IN_QUERY, pathOf } from './input.ts';
import { lost, openedStream, type Streaming } from './opened.ts';
import type { ExpectedStream, NodeStream } from './streams.ts';

/** Sends a file, or the part of it that `Range` names, as it comes from the node. */
export async function sendFile(of: Streaming, call: CallOf<'readFile'>): Promise<BytesAnswer> {
  const server = await loadReady(of.db, call);
  const path = pathOf(call.query.path, IN_QUERY);
  const range = (await isRangeMeant(of, call, path)) ? rangeOf(call.range) : null;
  const stream = of.streams.expect(server, 'up');
  try {
    const { ticket } = stream;
    const asked = await askNode(of.calls, call, server, { kind: 'send', path, range, ticket });
    const { file } = expectAnswer('sending', asked);
    if (file === null) throw new Error('a node sends an archive for a file');
    const etag = bytesTag(file.tag);
    const { status, headers } = headOfFile(path, etag, file);
    if (call.ifNoneMatch !== null && namesTag(call.ifNoneMatch, etag)) {
      stream.close();
      return { status: 304, headers: { etag }, bytes: null };
    }
    const bytes = await bytesOf(of, call, server, stream, file.length);
    return { status, headers, bytes };
  } catch (error) {
    stream.close();
    throw error;
  }
}

/** Packs files and folders on the node, and sends the archive as it grows. */
export async function sendArchive(
  of: Streaming,
  call: CallOf<'downloadFiles'>,
): Promise<BytesAnswer> {
  const server = await loadReady(of.db, call);
  const { format } = call.query;
  const paths = call.query.path.map((path) => pathOf(path, IN_QUERY));
  const stream = of.streams.expect(server, 'up');
  try {
    const { ticket } = stream;
    const asked = await askNode(of.calls, call, server, { kind: 'pack', paths, format, ticket });
    expectAnswer('sending', asked);
    const bytes = await bytesOf(of, call, server, stream, null);
    return { status: 200, headers: headOfArchive(paths, format), bytes };
  } catch (error) {
    stream.close();
    throw error;
  }
}

/** The bytes of an answer; of one that only the head is wanted of, none. */
async function bytesOf(
  of: Streaming,
  call: ServerCall & { readonly isHead: boolean },
  server: ServerRow,
  stream: ExpectedStream,
  length: number | null,
): Promise<Readable> {
  if (!call.isHead) return passOn(await openedStream(of, call, server, stream), length);
  stream.close();
  return Readable.from([]);
}

/** Whether a `Range` holds: with `If-Range` only for a file that has not changed. */
async function isRangeMeant(
  { calls, db }: Streaming,
  call: CallOf<'readFile'>,
  path: string,
): Promise<boolean> {
  if (call.range === null || call.ifRange === null) return true;
  const server = await loadReady(db, call);
  const { tag } = expectAnswer('tagged', await askNode(calls, call, server, { kind: 'tag', path }));
  return tag !== null && call.ifRange === bytesTag(tag);
}

/** Bytes that wait between the two connections. */
const BUFFER_BYTES = 256 * 1024;

/**
 * The bytes that a node sends, exactly as many as it announced: more would be read as the next answer of the connection, and
 * with fewer the caller must not take a part for the whole. Null: the end of the request is the end of the archive.
 */
function passOn({ request, response }: NodeStream, length: number | null): Readable {
  let left = length;
  const counted = new Transform({
    highWaterMark: BUFFER_BYTES,
    transform(chunk: Buffer, _encoding, done) {
      if (left !== null) left -= chunk.length;
      if (left !== null && left < 0) done(lost('The node sent more than it announced.'));
      else streamTurns.pass(chunk.length, () => done(null, chunk));
    },
    flush(done) {
      done(left === null || left === 0 ? null : lost('The node sent less than it announced.'));
    },
  });
  pipeline(request, counted, (error) => {
    if (error) response.destroy();
    else response.writeHead(204).end();
  });
  return counted;
}
