import type { ServerRight } from '@portcullis/core/access/server-rights.ts';
import type { Reader } from '../db/database.ts';
import { notSeen } from '../http/operations/not-found.ts';
import type { CallerCall } from '../http/operations/operation.ts';
import { requireRight } from '../http/operations/server-right.ts';
import { loadServer, type ServerRow } from './store.ts';

/** A request about one server. */
export type ServerCall = CallerCall<{ readonly slice: string }>;

/** The server of the path, to which the caller has this right: 404 or 403 without. */
export async function requireServer(
  db: Reader,
  { by, params: { slice } }: Pick<ServerCall, 'by' | 'params'>,
  right: ServerRight,
): Promise<ServerRow> {
  const server = await loadServer(db, by, slice);
  if (server === null) throw notSeen();
  requireRight(by, server.uuid, right);
  return server;
}
