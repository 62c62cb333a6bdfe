import { ABILITIES } from '@portcullis/core/access/abilities.ts';
import { ROLES } from '@portcullis/contract/endpoint.ts';
import { type Access, findOrganisation, unauthenticated } from '../../access/index.ts';
import type { Db } from '../../db/database.ts';
import { Problem } from '../../problem.ts';

/** For tests of what is behind sessions: the cookie `test=admin@acme` is a person with that role there. */
export function testSessions(db: Db): Access['authenticateSession'] {
  return async (cookie, slug) => {
    const [, name, of] = /^test=([a-z-]+)@([a-z]+)$/.exec(cookie ?? '') ?? [];
    if (name === undefined) throw unauthenticated('Sign in first.');
    const role = ROLES.find((one) => one === name) ?? null;
    const email = `${name}@${of}.example`;
    const person = { id: 1, email, isOperator: name === 'operator', role };
    if (slug === null) return { person, caller: null };
    const organisation = slug === of ? await findOrganisation(db, slug) : null;
    if (organisation === null) throw new Problem('not_found', 'There is no such organisation.');
    const caller = {
      keyId: 0,
      keyName: email,
      person,
      organisationId: organisation.id,
      organisation,
      abilities: new Set(ABILITIES),
      prefixes: null,
      servers: null,
      managedServers: null,
    };
    return { person, caller };
  };
}
