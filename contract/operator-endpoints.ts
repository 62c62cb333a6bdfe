import { OPERATOR_ENDPOINTS as ORGANISATIONS } from './operations/operator.ts';
import { declaredEndpoints } from './operations/declared.ts';
import { OPERATOR_FLEET_ENDPOINTS } from './operations/operator-fleet.ts';
import { OPERATOR_SERVER_ENDPOINTS } from './operations/operator-servers.ts';

import { BASELINE } from './schemas/declared/baseline.ts';
import { COLLECTOR } from './schemas/declared/collector.ts';
import { EDGE } from './schemas/declared/edge.ts';
import { NODE } from './schemas/declared/node.ts';
import { RESPONDER } from './schemas/declared/responder.ts';

export const OPERATOR_PREFIX = '/api/operator';

/**
 * Endpoints that operate the fleet: a row per operation, for keys of the operator and for the sessions of operators.
 */
export const OPERATOR_ENDPOINTS = [
  ...ORGANISATIONS,
  ...OPERATOR_SERVER_ENDPOINTS,
  ...OPERATOR_FLEET_ENDPOINTS,
  ...declaredEndpoints(NODE),
  ...declaredEndpoints(BASELINE),
  ...declaredEndpoints(EDGE),
  ...declaredEndpoints(COLLECTOR),
  ...declaredEndpoints(RESPONDER),
] as const;
