import type { OPERATOR_ENDPOINTS } from '@portcullis/contract/operator-endpoints.ts';
import type { EggSource } from '../fleet-file/read/egg-files.ts';
import { createAgentHandlers } from './agents.ts';
import { createServerHandlers } from './game-servers.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { createAuditHandlers } from './audit.ts';
import { createFleetHandlers } from './fleet.ts';
import { createHoldingHandlers } from './holdings.ts';
import { createKeyHandlers, type KeyHandlers } from './keys.ts';
import { createOrganisationHandlers } from './organisations.ts';
import { createServiceHandlers } from './services.ts';

type OperatorOperation = (typeof OPERATOR_ENDPOINTS)[number]['operationId'];

export interface AdministrationDeps {
  /** Where new hosts reach control. */
  readonly publicUrl: string;
  readonly eggs: EggSource;
}

/** API keys of organisations, and what the operator sees and changes, by the API and in the portal. */
export function createAdministration({ publicUrl, eggs }: AdministrationDeps): {
  readonly handlers: KeyHandlers & Pick<Handlers, OperatorOperation>;
} {
  return {
    handlers: {
      ...createKeyHandlers(),
      ...createOrganisationHandlers(),
      ...createServiceHandlers(),
      ...createHoldingHandlers(),
      ...createServerHandlers(eggs),
      ...createFleetHandlers(),
      ...createAgentHandlers(publicUrl),
      ...createAuditHandlers(),
    },
  };
}
