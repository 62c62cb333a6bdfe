import type { Handlers } from '../http/operations/handlers.ts';
import { createAuditHandlers } from './audit.ts';
import { createFleetHandlers } from './fleet.ts';
import { createHoldingHandlers } from './holdings.ts';
import { createKeyHandlers, type KeyHandlers } from './keys.ts';
import { createOrganisationHandlers } from './organisations.ts';
import { createServiceHandlers } from './services.ts';

type OperatorHandlers = Pick<
  Handlers,
  | 'listOrganisations'
  | 'saveOrganisation'
  | 'addAsn'
  | 'removeAsn'
  | 'saveThresholds'
  | 'suggestThresholds'
  | 'saveService'
  | 'removeService'
  | 'createHolding'
  | 'changeHolding'
  | 'removeHolding'
  | 'readFleetHealth'
  | 'removeAgent'
  | 'readAuditTrail'
>;

/** API keys of organisations, and what the operator sees and changes in the portal. */
export function createAdministration(): { readonly handlers: KeyHandlers & OperatorHandlers } {
  return {
    handlers: {
      ...createKeyHandlers(),
      ...createOrganisationHandlers(),
      ...createServiceHandlers(),
      ...createHoldingHandlers(),
      ...createFleetHandlers(),
      ...createAuditHandlers(),
    },
  };
}
