import type { PortalEndpoint } from '../endpoint.ts';
import {
  AddressChanged,
  GenerationBody,
  GeoRuleInput,
  GeoRules,
  GroupInput,
  GroupPreview,
  Groups,
  GroupSaved,
  History,
  HistoryQuery,
  NotedAddresses,
  NotedAddressesQuery,
  RuleNote,
  RuleNotes,
  RuleNoteSaved,
} from '../schemas/portal-firewall.ts';
import { ADDRESS_PARAMS } from './firewall.ts';
import {
  deleteAnswers,
  idParam,
  ORGANISATION,
  readAnswers,
  writeAnswers,
} from './portal-shared.ts';

const BASE = '/organisations/{organisation}/firewall';
const ADDRESS = { ...ORGANISATION, ...ADDRESS_PARAMS };
const common = { tag: 'Firewall' } as const;
const CHANGE_PROBLEMS = [
  'rule_exists',
  'filter_exists',
  'filter_unavailable',
  'limit_exceeded',
] as const;

/** Rules with notes, and the history of an address. */
export const PORTAL_FIREWALL_ENDPOINTS = [
  {
    ...common,
    operationId: 'listNotedAddresses',
    method: 'GET',
    path: `${BASE}/notes`,
    params: ORGANISATION,
    role: 'read-only',
    write: false,
    requestHeaders: ['If-None-Match'],
    query: NotedAddressesQuery,
    summary: 'List the addresses whose rules have notes or tags',
    description: 'With their tags, to find an address by what its rules are for.',
    responses: readAnswers('The addresses.', NotedAddresses),
  },
  {
    ...common,
    operationId: 'listRuleNotes',
    method: 'GET',
    path: `${BASE}/ips/{ip}/notes`,
    params: ADDRESS,
    role: 'read-only',
    write: false,
    requestHeaders: ['If-None-Match'],
    summary: 'List the notes and tags of the rules of an address',
    description: 'They are private to the organisation, and in no answer of the other interfaces.',
    responses: readAnswers('The notes.', RuleNotes),
  },
  {
    ...common,
    operationId: 'saveRuleNote',
    method: 'PUT',
    path: `${BASE}/rules/{rule}/note`,
    params: { ...ORGANISATION, rule: idParam('Id of an own rule of an address.') },
    role: 'member',
    write: true,
    summary: 'Save the note and tags of a rule',
    description: 'Replaces both. It changes no packet’s way and takes no generation.',
    body: RuleNote,
    responses: writeAnswers(200, 'Saved.', RuleNoteSaved),
  },
  {
    ...common,
    operationId: 'readHistory',
    method: 'GET',
    path: `${BASE}/ips/{ip}/history`,
    params: ADDRESS,
    role: 'read-only',
    write: false,
    requestHeaders: ['If-None-Match'],
    query: HistoryQuery,
    summary: 'Read the changes of an address',
    description:
      'Every change of what applies to the address since the organisation holds it, with who made it and the difference. 400 days are kept.',
    responses: readAnswers('The changes.', History),
  },
  {
    ...common,
    operationId: 'undoChange',
    method: 'POST',
    path: `${BASE}/ips/{ip}/undo`,
    params: ADDRESS,
    role: 'member',
    write: true,
    summary: 'Undo a change of an address',
    description:
      'Deletes the own rules and filters that the change created, and creates those that it deleted, with their notes. What was changed since stays. Restored rules have new ids. A change that is undone already changes nothing.',
    body: GenerationBody,
    responses: writeAnswers(200, 'Accepted. Not live everywhere yet.', AddressChanged, [
      ...CHANGE_PROBLEMS,
    ]),
  },
  {
    ...common,
    operationId: 'restoreAddress',
    method: 'POST',
    path: `${BASE}/ips/{ip}/restore`,
    params: ADDRESS,
    role: 'member',
    write: true,
    summary: 'Go back to an earlier state of an address',
    description:
      'Makes the own rules and filters those that were accepted as of the generation, with their notes, in one change. Groups, geo rules and defaults stay as they are.',
    body: GenerationBody,
    responses: writeAnswers(200, 'Accepted. Not live everywhere yet.', AddressChanged, [
      ...CHANGE_PROBLEMS,
    ]),
  },
] as const satisfies readonly PortalEndpoint[];

const ORGANISATION_PATH = '/organisations/{organisation}';
const GROUP = { ...ORGANISATION, group: idParam('Id of a group.') };
const GEO = { ...ORGANISATION, geo_rule: idParam('Id of a geo rule.') };
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
    path: `${ORGANISATION_PATH}/groups`,
    params: ORGANISATION,
    requestHeaders: ['If-None-Match'],
    summary: 'List firewall groups',
    description: 'With their rules, filters and where they are assigned, by name.',
    responses: readAnswers('The groups.', Groups),
  },
  {
    ...write,
    operationId: 'createGroup',
    method: 'POST',
    path: `${ORGANISATION_PATH}/groups`,
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
    path: `${ORGANISATION_PATH}/groups/{group}`,
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
    path: `${ORGANISATION_PATH}/groups/{group}`,
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
    path: `${ORGANISATION_PATH}/groups/preview`,
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
    path: `${ORGANISATION_PATH}/groups/{group}/preview`,
    params: GROUP,
    summary: 'Preview a change of a firewall group',
    description: 'What would change where, and what it conflicts with. Nothing is changed.',
    body: GroupInput,
    responses: writeAnswers(200, 'What would happen.', GroupPreview, CONFLICTS),
  },
  {
    ...read,
    operationId: 'listGeoRules',
    path: `${ORGANISATION_PATH}/geo-rules`,
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
    path: `${ORGANISATION_PATH}/geo-rules`,
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
    path: `${ORGANISATION_PATH}/geo-rules/{geo_rule}`,
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
    path: `${ORGANISATION_PATH}/geo-rules/{geo_rule}`,
    params: GEO,
    summary: 'Delete a geo rule',
    description: 'From everywhere that it is assigned.',
    responses: deleteAnswers('Accepted.', GroupSaved, ['managed_by_fleet_file']),
  },
] as const satisfies readonly PortalEndpoint[];
