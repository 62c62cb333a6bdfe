import {
  passwordHandlers,
  secondFactorHandlers,
  sessionHandlers,
  totpHandlers,
} from './account.ts';
import type { LinkDeps } from './links/link-mail.ts';
import { linkHandlers } from './links/links.ts';
import { invitationHandlers, memberHandlers } from './members.ts';
import { actingHandlers, openLinkHandlers, operatorHandlers } from './operator.ts';
import { passkeyHandlers, passkeySignInHandlers } from './passkeys/passkeys.ts';
import { signInHandlers } from './sign-in.ts';

export { hashing, releaseHashing } from './hashing.ts';
export {
  createOperatorLink,
  createReset,
  findFirstOperator,
  listServerLinks,
  voidLinksOf,
  withdrawServerLink,
} from './links/link-store.ts';
export { type LinkDeps, makeLink } from './links/link-mail.ts';
export { auditOwn, DONE } from './call.ts';
export { findPersonByEmail, refuse, requireEmail } from './person-store.ts';
export { requirePassword } from './prove.ts';
export { giveRights, loadServerPeople, lockRights, takeRights } from './server-rights-store.ts';

/** People: how they sign in, what they belong to, and links. */
export function createAccounts({ publicUrl, mail }: LinkDeps) {
  const handlers = {
    ...signInHandlers(publicUrl),
    ...sessionHandlers(),
    ...passwordHandlers(publicUrl),
    ...totpHandlers(publicUrl),
    ...secondFactorHandlers(),
    ...linkHandlers(publicUrl),
    ...memberHandlers(),
    ...invitationHandlers({ publicUrl, mail }),
    ...operatorHandlers({ publicUrl, mail }),
    ...openLinkHandlers(),
    ...actingHandlers(),
    ...passkeySignInHandlers(publicUrl),
    ...passkeyHandlers(publicUrl),
  };
  return { handlers };
}
