import {
  ConflictError,
  ConnectionError,
  type KeyClient,
  ProblemError,
  RateLimitError,
  ServiceError,
} from '@portcullis/client/index.ts';
import type { FileTransfers } from '@portcullis/client/transfers.ts';
import { filesMessages } from '../../../../messages/files.ts';
import type { UploadTarget } from './upload-queue.ts';

const TRIES = 8;
const LONGEST_PAUSE_MS = 30_000;
const BUSY_MS = 5_000;
/** A part is small where the line is slow, so one that takes longer is lost. */
const PART_MS = 120_000;

/** Uploads to one server by the client of the session. */
export function createUploadTarget(
  client: KeyClient,
  transfers: FileTransfers,
  slice: string,
): UploadTarget {
  return {
    async received(path, size, signal) {
      const { data } = await client.readUpload({ slice, query: { path } }, { signal });
      return data.size === size ? data.received : 0;
    },
    async send({ path, offset, size, bytes, mayReplace }, signal) {
      const part = { slice, path, offset, size, body: bytes, isNew: !mayReplace };
      const late = AbortSignal.timeout(PART_MS);
      try {
        return (await transfers.upload(part, AbortSignal.any([signal, late]))).received;
      } catch (error) {
        if (error instanceof ConflictError && error.code === 'precondition_failed')
          throw new Error(filesMessages.uploads.exists, { cause: error });
        throw error;
      }
    },
    makeFolder: (path) => client.makeFolder({ slice, body: { path } }),
    abort: (path) => client.abortUpload({ slice, query: { path } }),
    pauseAfter,
  };
}

function pauseAfter(error: unknown, failures: number): number | null {
  if (failures >= TRIES) return null;
  if (error instanceof RateLimitError) return (error.retryAfterSeconds ?? 1) * 1000;
  const isLate = error instanceof DOMException && error.name === 'TimeoutError';
  const isAway = isLate || error instanceof ConnectionError || error instanceof ServiceError;
  // After a broken line the request before may still hold the upload for a moment.
  const isHeld = error instanceof ProblemError && error.code === 'conflict' && failures > 1;
  if (!isAway && !isHeld) return null;
  return isHeld ? BUSY_MS : Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** failures);
}
