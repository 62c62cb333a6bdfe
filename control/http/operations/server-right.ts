import { describeRight, type ServerRight } from '@portcullis/core/access/server-rights.ts';
import { type Caller, rightsOn } from '../../access/index.ts';
import { Problem } from '../../problem.ts';
import { notSeen } from './not-found.ts';

/**
 * Refuses a caller that has none of these rights to a server of its organisation. For a key the server does not exist
 * then; a person sees the server, and is answered which right is missing.
 */
export function requireRight(
  caller: Caller,
  uuid: string,
  right: ServerRight,
  ...others: readonly ServerRight[]
): void {
  const own = rightsOn(caller, uuid);
  if ([right, ...others].some((one) => own.has(one))) return;
  if (caller.kind === 'key' || own.size === 0) throw notSeen();
  throw new Problem(
    'ability_missing',
    `You lack the right ${right} to this server (${describeRight(right)}). One who decides about its people can give it.`,
  );
}
