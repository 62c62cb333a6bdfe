import { PORTAL_AGENT_ENDPOINTS } from './operations/portal-agents.ts';
import { PORTAL_ACCOUNT_ENDPOINTS, PORTAL_SIGN_IN_ENDPOINTS } from './operations/portal-account.ts';
import {
  PORTAL_ADMINISTRATION_ENDPOINTS,
  PORTAL_PEOPLE_ENDPOINTS,
} from './operations/portal-people.ts';
import { PORTAL_FIREWALL_ENDPOINTS, PORTAL_GROUP_ENDPOINTS } from './operations/portal-firewall.ts';
import { PORTAL_WEBHOOK_ENDPOINTS } from './operations/portal-webhooks.ts';

export const PORTAL_PREFIX = '/api/portal';

/** Endpoints that the portal calls beyond the interfaces: a row per operation, for signed-in people. */
export const PORTAL_ENDPOINTS = [
  ...PORTAL_SIGN_IN_ENDPOINTS,
  ...PORTAL_ACCOUNT_ENDPOINTS,
  ...PORTAL_PEOPLE_ENDPOINTS,
  ...PORTAL_FIREWALL_ENDPOINTS,
  ...PORTAL_GROUP_ENDPOINTS,
  ...PORTAL_ADMINISTRATION_ENDPOINTS,
  ...PORTAL_AGENT_ENDPOINTS,
  ...PORTAL_WEBHOOK_ENDPOINTS,
] as const;
