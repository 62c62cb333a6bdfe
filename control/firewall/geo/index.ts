/** Geo rules: what an organisation drops by country or ASN, on addresses or prefixes. */
export { findGeoRule, type GeoRuleView, listGeoRules, saveGeoRule } from './save.ts';
export { assignGeoRule, createGeoRule, deleteGeoRule, type GeoContent } from './service.ts';
