import { formatPath, parsePath } from '@portcullis/core/game-servers/files/path.ts';
import type { Reader } from '../../db/database.ts';
import { sameState } from '../../http/operations/etag.ts';
import { invalidValue, Problem } from '../../problem.ts';
import type { NodeCalls } from '../nodes/calls.ts';
import type { ServerCall } from '../require-server.ts';
import { readTag } from './ask.ts';

type Where = { readonly pointer: string } | { readonly parameter: string };

export const IN_QUERY = { parameter: 'path' } as const;

/** The one spelling of a path. Throws 422. */
export function pathOf(text: string, where: Where): string {
  const path = parsePath(text);
  if (!path.ok) throw invalidValue('The path', where, path.reason);
  return formatPath(path.value);
}

/** The tag of a file that is not there. */
const ABSENT = 'absent';

/**
 * The tag that the file must have for `If-Match`, `absent` for `If-None-Match: *`; null without both. Throws 412 if the file
 * does not have it any more.
 */
export async function expectedOf(
  calls: NodeCalls,
  db: Reader,
  call: ServerCall,
  path: () => string,
): Promise<string | null> {
  const { ifMatch, ifNoneMatch } = call;
  if (ifNoneMatch !== null && (ifNoneMatch.trim() !== '*' || ifMatch !== null)) {
    const where = { parameter: 'If-None-Match' };
    throw invalidValue('The header If-None-Match', where, 'of a write is * alone');
  }
  if (ifNoneMatch !== null) return ABSENT;
  if (ifMatch === null) return null;
  const tag = await readTag(calls, db, call, path);
  if (tag !== null && sameState(ifMatch, tag)) return tag;
  throw new Problem('precondition_failed', `${path()} was changed since it was read.`);
}
