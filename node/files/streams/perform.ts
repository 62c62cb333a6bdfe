import type { FileOperation, FileOperationOf } from '@portcullis/link/messages/files.ts';
import type { Gate, Performed } from '../gate.ts';
import { readTag } from '../operations/content.ts';
import { unknownOperation } from '../refusal.ts';
import type { StreamRoute } from './connect.ts';
import { type FileLinks, makeLink, makeUploadLink } from './links.ts';
import { describeUpload, dropUpload, fromControl, receiveFile } from './receive.ts';
import { sendArchive, sendFile, toControl } from './send.ts';

const KINDS = [
  'tag',
  'send',
  'pack',
  'makeLink',
  'makeUploadLink',
  'receive',
  'outcome',
  'uploaded',
  'dropUpload',
] as const satisfies readonly FileOperation['kind'][];

/** An operation by which a file of any size passes as a stream. */
type StreamOperation = FileOperationOf<(typeof KINDS)[number]>;

export function isStreamOperation(operation: FileOperation): operation is StreamOperation {
  return (KINDS as readonly string[]).includes(operation.kind);
}

export function performStream(
  gate: Gate,
  operation: StreamOperation,
  { route, links }: { readonly route: StreamRoute; readonly links: FileLinks | null },
  leftMs: () => number,
): Promise<Performed> {
  const { uuid, transfers } = gate.files;
  switch (operation.kind) {
    case 'tag':
      return readTag(gate, operation);
    case 'send':
      return sendFile(gate, operation, toControl(route, { uuid, ticket: operation.ticket }));
    case 'pack':
      return sendArchive(gate, operation, toControl(route, { uuid, ticket: operation.ticket }));
    case 'makeLink':
      return makeLink(gate, operation, links);
    case 'makeUploadLink':
      return makeUploadLink(gate, operation, links);
    case 'receive':
      return receiveFile(gate, operation, fromControl(route, { uuid, ticket: operation.ticket }));
    case 'outcome':
      return Promise.resolve(() => transfers.outcome(operation.id, leftMs()));
    case 'uploaded':
      return describeUpload(gate, operation);
    case 'dropUpload':
      return dropUpload(gate, operation);
    default:
      throw unknownOperation();
  }
}
