import { createKeyHandlers, type KeyHandlers } from './keys.ts';
import { createOperatorHandlers, type OperatorHandlers } from './operator.ts';

/** API keys of organisations, and what the operator sees and changes in the portal. */
export function createAdministration(): { readonly handlers: KeyHandlers & OperatorHandlers } {
  return { handlers: { ...createKeyHandlers(), ...createOperatorHandlers() } };
}
