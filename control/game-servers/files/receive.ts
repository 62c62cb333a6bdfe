import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { releaseWritten } from '@portcullis/link/release-bytes.ts';
import type { Caller } from '../../access/index.ts';
import type { CallOf } from '../../http/operations/handlers.ts';
import type { Answer, LaterAnswer, Writing } from '../../http/operations/operation.ts';
import { streamTurns } from '../../http/streams/turns.ts';
import { invalidValue, Problem } from '../../problem.ts';
import type { Attempt } from '../attempt.ts';
import type { ServerRow } from '../store.ts';
import { askNode, expectAnswer, loadReady, outcomeOf, recordChange } from './ask.ts';
import { expectedOf, IN_QUERY, pathOf } from './input.ts';
import { lost, openedStream, type Streaming, waitForOutcome } from './opened.ts';
import type { ExpectedStream } from './streams.ts';
import { uploadView } from './views.ts';

type UploadCall = CallOf<'uploadFile'> & Writing<Caller>;

/** Passes the bytes of a file on to the node, which gives the file its name when it is whole. */
export async function receiveFile(of: Streaming, call: UploadCall): Promise<LaterAnswer> {
  const { calls, db, streams } = of;
  const server = await loadReady(db, call);
  const { offset, size } = call.query;
  const path = pathOf(call.query.path, IN_QUERY);
  if (offset > size)
    throw invalidValue('The offset', { parameter: 'offset' }, 'is behind the end of the file');
  const expected = await expectedOf(calls, db, call, () => path);
  const stream = streams.expect(server, 'down');
  const { ticket } = stream;
  const operation = { kind: 'receive', path, offset, size, expected, ticket } as const;
  const attempt = await recordChange(db, call, operation);
  const answer = await askNode(calls, call, server, operation);
  if (answer.kind !== 'receiving') {
    stream.close();
    await attempt.close(outcomeOf(answer));
    expectAnswer('receiving', answer);
  }
  const upload = { call, server, stream, attempt, path };
  return { later: (ending) => passBytes(of, upload, ending) };
}

interface Upload {
  readonly call: UploadCall;
  readonly server: ServerRow;
  readonly stream: ExpectedStream;
  readonly attempt: Attempt;
  readonly path: string;
}

async function passBytes(of: Streaming, upload: Upload, ending: AbortSignal): Promise<Answer> {
  const { call, server, stream, attempt, path } = upload;
  const { id } = stream.ticket;
  try {
    const { request, response } = await openedStream(of, call, server, stream);
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    // Whatever cuts it off, the node knows how much it has, and why it took no more.
    releaseWritten(response);
    const passed = pipeline(call.bytes ?? [], inTurns(), response, { signal: ending });
    await passed.catch(() => request.destroy());
    if (ending.aborted) throw lost('The upload was cut off. Go on from what was received.');
    const outcome = await waitForOutcome(of.calls, call, server, id);
    await attempt.close(outcomeOf(outcome));
    const received = expectAnswer('received', outcome);
    return { status: 200, body: { data: uploadView(path, received) } };
  } catch (error) {
    stream.close();
    await attempt.close({ kind: 'unconfirmed', message: whyOf(error) });
    throw error;
  }
}

/** Why it is not known whether the file is whole. */
function whyOf(error: unknown): string {
  return error instanceof Problem ? error.detail : 'The upload was cut off.';
}

/** Passes bytes on in turns with the other work of this process. */
function inTurns(): Transform {
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) =>
      streamTurns.pass(chunk.length, () => done(null, chunk)),
  });
}
