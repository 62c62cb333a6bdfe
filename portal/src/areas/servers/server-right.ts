import type { ServerRight } from '@portcullis/core/access/server-rights.ts';
import { serverPeopleMessages } from '../../messages/servers/people.ts';

/** Why the caller may not do what needs this right to a server; null when it has it. */
export function rightRefusal(own: readonly string[], needed: ServerRight): string | null {
  return own.includes(needed) ? null : serverPeopleMessages.lacks(needed);
}
