/** Geo rules: what an organisation drops by country or ASN, on addresses or prefixes. */
export {
  createGeoRule,
  deleteGeoRule,
  findGeoRule,
  listGeoRules,
  placeGeoRule,
  saveGeoRule,
  unassignGeoRules,
} from './service.ts';
