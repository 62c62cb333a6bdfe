import { OPERATOR_ENDPOINTS as ORGANISATIONS } from './operations/operator.ts';
import { createEndpoint, declaredEndpoints } from './operations/declared.ts';
import { OPERATOR_FLEET_ENDPOINTS } from './operations/operator-fleet.ts';
import { OPERATOR_SERVER_ENDPOINTS } from './operations/operator-servers.ts';
import { BLOCKED_LIST } from './schemas/declared/blocked-list.ts';
import { ASN } from './schemas/declared/asn.ts';
import { BASELINE } from './schemas/declared/baseline.ts';
import { COLLECTOR } from './schemas/declared/collector.ts';
import { EDGE } from './schemas/declared/edge.ts';
import { GEO_RULE } from './schemas/declared/geo-rule.ts';
import { GROUP } from './schemas/declared/group.ts';
import { SERVER } from './schemas/declared/game-server.ts';
import { HOLDING } from './schemas/declared/holding.ts';
import { LIBRARY_EGG } from './schemas/declared/library-egg.ts';
import { NODE } from './schemas/declared/node.ts';
import { ORGANISATION } from './schemas/declared/organisation.ts';
import { ORGANISATION_KEY } from './schemas/declared/organisation-key.ts';
import { RESPONDER } from './schemas/declared/responder.ts';
import { SERVICE } from './schemas/declared/service.ts';

export const OPERATOR_PREFIX = '/api/operator';

/**
 * Endpoints that operate the fleet: a row per operation, for keys of the operator and for the sessions of operators.
 */
export const OPERATOR_ENDPOINTS = [
  ...ORGANISATIONS,
  ...OPERATOR_SERVER_ENDPOINTS,
  ...OPERATOR_FLEET_ENDPOINTS,
  ...declaredEndpoints(ORGANISATION),
  ...declaredEndpoints(ASN),
  ...declaredEndpoints(SERVICE),
  ...declaredEndpoints(HOLDING),
  createEndpoint(HOLDING),
  ...declaredEndpoints(ORGANISATION_KEY),
  createEndpoint(ORGANISATION_KEY),
  ...declaredEndpoints(GROUP),
  ...declaredEndpoints(GEO_RULE),
  createEndpoint(GEO_RULE),
  ...declaredEndpoints(BLOCKED_LIST),
  ...declaredEndpoints(NODE),
  ...declaredEndpoints(BASELINE),
  ...declaredEndpoints(EDGE),
  ...declaredEndpoints(COLLECTOR),
  ...declaredEndpoints(RESPONDER),
  ...declaredEndpoints(LIBRARY_EGG),
  ...declaredEndpoints(SERVER),
] as const;
