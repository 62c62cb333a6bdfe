import { PORTAL_FIREWALL_ENDPOINTS } from './operations/portal-firewall.ts';
import { PORTAL_GROUP_ENDPOINTS } from './operations/portal-groups.ts';

export const PORTAL_PREFIX = '/api/portal';

/** What the portal calls beyond the interfaces: a row per operation, for signed-in people. */
export const PORTAL_ENDPOINTS = [...PORTAL_FIREWALL_ENDPOINTS, ...PORTAL_GROUP_ENDPOINTS] as const;
