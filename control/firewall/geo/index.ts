/** Geo rules: what an organisation drops by country or ASN, on addresses or prefixes. */
export {
  assignGeoRule,
  createGeoRule,
  deleteGeoRule,
  findGeoRule,
  type GeoContent,
  type GeoRuleView,
  listGeoRules,
  saveGeoRule,
} from './service.ts';
