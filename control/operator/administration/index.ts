import type { OPERATOR_ENDPOINTS } from '@portcullis/contract/operator-endpoints.ts';
import { createAgentHandlers } from './agents.ts';
import { libraryOf } from '../fleet-file/read/egg-files.ts';
import { createEggHandlers, type EggDeps } from './eggs.ts';
import type { Handlers } from '../../http/operations/handlers.ts';
import { createAuditHandlers } from './audit.ts';
import { createFleetHandlers } from './fleet.ts';
import { createKeyHandlers, type KeyHandlers } from './keys.ts';
import { createOperatorHandlers } from '../index.ts';
import { createOrganisationHandlers } from './organisations.ts';

type OperatorOperation = (typeof OPERATOR_ENDPOINTS)[number]['operationId'];

export interface AdministrationDeps extends EggDeps {
  /** Where new hosts reach control. */
  readonly publicUrl: string;
  /** The command that enforces what the edge of this host observes; null: it is not run by `up`. */
  readonly enforceCommand: string | null;
}

/** API keys of organisations, and what the operator sees and changes, by the API and in the portal. */
export function createAdministration(deps: AdministrationDeps): {
  readonly handlers: KeyHandlers & Pick<Handlers, OperatorOperation>;
} {
  const { publicUrl, eggs, enforceCommand } = deps;
  return {
    handlers: {
      ...createKeyHandlers(),
      ...createOrganisationHandlers(),
      ...createEggHandlers(deps),
      ...createFleetHandlers(enforceCommand),
      ...createAgentHandlers(publicUrl),
      ...createAuditHandlers(),
      ...createOperatorHandlers(libraryOf(eggs)),
    },
  };
}
