import type { FileAnswer, FileOperation } from '@portcullis/link/messages/files.ts';
import type { Reader } from '../../db/database.ts';
import { Problem } from '../../problem.ts';
import type { NodeCalls, Silence } from '../nodes/calls.ts';
import type { ServerCall } from '../require-server.ts';
import type { ServerRow } from '../store.ts';
import { askNode } from './ask.ts';
import { type ExpectedStream, type FileStreams, type NodeStream, StreamLost } from './streams.ts';

/** The parts of control that operations with streams need. */
export interface Streaming {
  readonly calls: NodeCalls;
  readonly streams: FileStreams;
  readonly db: Reader;
}

/** A busy node may answer late once or twice. */
const TRIES = 3;

/** The connection of the node. Throws 503 with the reason of the node if it does not come. */
export async function openedStream(
  { calls }: Streaming,
  call: ServerCall,
  server: ServerRow,
  stream: ExpectedStream,
): Promise<NodeStream> {
  try {
    return await stream.opened;
  } catch (error) {
    if (!(error instanceof StreamLost)) throw error;
    const outcome = await waitForOutcome(calls, call, server, stream.ticket.id);
    const why = outcome.kind === 'refused' ? outcome.reason : error.message;
    throw lost(why);
  }
}

/** The last word of the node on a stream, when that has ended. */
export async function waitForOutcome(
  calls: NodeCalls,
  call: ServerCall,
  server: ServerRow,
  id: string,
): Promise<FileAnswer | Silence> {
  const operation: FileOperation = { kind: 'outcome', id };
  for (let late = 0; ; ) {
    const answer = await askNode(calls, call, server, operation);
    if (answer.kind === 'silent') late += 1;
    const isOpen = answer.kind === 'received' && answer.isOpen;
    if (!isOpen && (answer.kind !== 'silent' || late >= TRIES)) return answer;
  }
}

export function lost(why: string): Problem {
  return new Problem('unavailable', why, { headers: { 'retry-after': '1' } });
}
