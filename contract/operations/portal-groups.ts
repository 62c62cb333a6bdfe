import type { PortalEndpoint } from '../endpoint.ts';
import {
  FilterTypes,
  GeoRuleInput,
  GeoRules,
  GroupInput,
  GroupPreview,
  Groups,
  GroupSaved,
} from '../schemas/portal-groups.ts';
import {
  deleteAnswers,
  idParam,
  ORGANISATION,
  readAnswers,
  writeAnswers,
} from './portal-shared.ts';

const BASE = '/organisations/{organisation}';
const GROUP = { ...ORGANISATION, group: idParam('Id of a group.') };
const GEO = { ...ORGANISATION, geo_rule: idParam('Id of a geo rule.') };
const common = { tag: 'Firewall' } as const;
const read = { ...common, method: 'GET', role: 'read-only', write: false } as const;
const write = { ...common, role: 'admin', write: true } as const;
const CONFLICTS = [
  'managed_by_fleet_file',
  'rule_exists',
  'filter_exists',
  'filter_unavailable',
  'limit_exceeded',
] as const;

/** Firewall groups and geo rules. */
export const PORTAL_GROUP_ENDPOINTS = [
  {
    ...read,
    operationId: 'listGroups',
    path: `${BASE}/groups`,
    params: ORGANISATION,
    requestHeaders: ['If-None-Match'],
    summary: 'List firewall groups',
    description: 'With their rules, filters and where they are assigned, by name.',
    responses: readAnswers('The groups.', Groups),
  },
  {
    ...read,
    operationId: 'listFilterTypes',
    path: `${BASE}/filter-types`,
    params: ORGANISATION,
    requestHeaders: ['If-None-Match'],
    summary: 'List the filters that a group can have',
    description: 'An address can still lack one of them, where its service manages it.',
    responses: readAnswers('The filters.', FilterTypes),
  },
  {
    ...write,
    operationId: 'createGroup',
    method: 'POST',
    path: `${BASE}/groups`,
    params: ORGANISATION,
    summary: 'Create a firewall group',
    description: 'With its content and where it is assigned, in one change.',
    body: GroupInput,
    responses: writeAnswers(201, 'Accepted.', GroupSaved, CONFLICTS),
  },
  {
    ...write,
    operationId: 'saveGroup',
    method: 'PUT',
    path: `${BASE}/groups/{group}`,
    params: GROUP,
    summary: 'Change a firewall group',
    description:
      'Makes the group what the body says, everywhere that it is assigned or nowhere. Rules and filters that stay keep their ids.',
    body: GroupInput,
    responses: writeAnswers(200, 'Accepted.', GroupSaved, CONFLICTS),
  },
  {
    ...write,
    operationId: 'deleteGroup',
    method: 'DELETE',
    path: `${BASE}/groups/{group}`,
    params: GROUP,
    summary: 'Delete a firewall group',
    description: 'With everything that it put on addresses.',
    responses: deleteAnswers('Accepted.', GroupSaved, ['managed_by_fleet_file']),
  },
  {
    ...common,
    role: 'admin',
    write: false,
    operationId: 'previewNewGroup',
    method: 'POST',
    path: `${BASE}/groups/preview`,
    params: ORGANISATION,
    summary: 'Preview a new firewall group',
    description: 'What would change where, and what it conflicts with. Nothing is changed.',
    body: GroupInput,
    responses: writeAnswers(200, 'What would happen.', GroupPreview, CONFLICTS),
  },
  {
    ...common,
    role: 'admin',
    write: false,
    operationId: 'previewGroup',
    method: 'POST',
    path: `${BASE}/groups/{group}/preview`,
    params: GROUP,
    summary: 'Preview a change of a firewall group',
    description: 'What would change where, and what it conflicts with. Nothing is changed.',
    body: GroupInput,
    responses: writeAnswers(200, 'What would happen.', GroupPreview, CONFLICTS),
  },
  {
    ...read,
    operationId: 'listGeoRules',
    path: `${BASE}/geo-rules`,
    params: ORGANISATION,
    requestHeaders: ['If-None-Match'],
    summary: 'List geo rules',
    description: 'What is dropped by country or ASN, and where.',
    responses: readAnswers('The geo rules.', GeoRules),
  },
  {
    ...write,
    operationId: 'createGeoRule',
    method: 'POST',
    path: `${BASE}/geo-rules`,
    params: ORGANISATION,
    summary: 'Create a geo rule',
    description: 'With where it is assigned, in one change.',
    body: GeoRuleInput,
    bodyExamples: {
      deny: { action: 'deny', countries: ['XX'], asns: [64496], targets: ['203.0.113.0/24'] },
    },
    responses: writeAnswers(201, 'Accepted.', GroupSaved, CONFLICTS),
  },
  {
    ...write,
    operationId: 'saveGeoRule',
    method: 'PUT',
    path: `${BASE}/geo-rules/{geo_rule}`,
    params: GEO,
    summary: 'Change a geo rule',
    description:
      'Makes it what the body says. With other countries, ASNs or action it is a new rule with a new id, which the answer has.',
    body: GeoRuleInput,
    responses: writeAnswers(200, 'Accepted.', GroupSaved, CONFLICTS),
  },
  {
    ...write,
    operationId: 'deleteGeoRule',
    method: 'DELETE',
    path: `${BASE}/geo-rules/{geo_rule}`,
    params: GEO,
    summary: 'Delete a geo rule',
    description: 'From everywhere that it is assigned.',
    responses: deleteAnswers('Accepted.', GroupSaved, ['managed_by_fleet_file']),
  },
] as const satisfies readonly PortalEndpoint[];
