/**
 * Everything that organisations are and have: ASNs, services, holdings, limits and thresholds. Written by the fleet
 * file and by operators in the portal, each its own.
 */
export type { OrganisationLimits } from '../access/index.ts';
export {
  changeHolding,
  createHoldings,
  type CurrentHolding,
  deleteHolding,
  type HoldingContent,
  inEffect,
  loadHoldings,
  loadInside,
  loadNow,
  type ObjectsInside,
} from './holdings.ts';
export {
  closeService,
  deleteAsn,
  deleteService,
  saveAsns,
  saveDetections,
  saveOrganisations,
  saveServices,
  type ServiceContent,
} from './organisations.ts';
