import type { Handlers } from '../http/operations/handlers.ts';
import { accountHandlers } from './account.ts';
import { linkHandlers } from './links.ts';
import { memberHandlers } from './members.ts';
import { operatorHandlers } from './operator.ts';
import { passkeyHandlers } from './passkeys.ts';
import { signInHandlers } from './sign-in.ts';

export { createOperatorLink, createReset, hasOperator } from './link-store.ts';
export { findPersonByEmail } from './person-store.ts';

export type AccountHandlers = Pick<
  Handlers,
  | keyof ReturnType<typeof signInHandlers>
  | keyof ReturnType<typeof accountHandlers>
  | keyof ReturnType<typeof linkHandlers>
  | keyof ReturnType<typeof memberHandlers>
  | keyof ReturnType<typeof operatorHandlers>
  | keyof ReturnType<typeof passkeyHandlers>
>;

export interface Accounts {
  readonly handlers: AccountHandlers;
}

/** People: how they sign in, what they belong to, and links. `publicUrl`: without a trailing slash. */
export function createAccounts({ publicUrl }: { readonly publicUrl: string }): Accounts {
  return {
    handlers: {
      ...signInHandlers(publicUrl),
      ...accountHandlers(),
      ...linkHandlers(),
      ...memberHandlers(publicUrl),
      ...operatorHandlers(publicUrl),
      ...passkeyHandlers(publicUrl),
    },
  };
}
