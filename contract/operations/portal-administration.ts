import { Type } from 'typebox';
import type { PortalEndpoint } from '../endpoint.ts';
import {
  ApiKeyCreated,
  ApiKeyInput,
  ApiKeyRevoked,
  ApiKeys,
  AuditQuery,
  AuditTrail,
  FleetHealth,
  OrganisationInput,
  Organisations,
} from '../schemas/portal-administration.ts';
import {
  deleteAnswers,
  idParam,
  ORGANISATION,
  readAnswers,
  writeAnswers,
} from './portal-shared.ts';

const KEYS = '/organisations/{organisation}/keys';
const read = { method: 'GET', write: false, requestHeaders: ['If-None-Match'] } as const;
const admin = { tag: 'Organisation', role: 'admin' } as const;
const operator = { tag: 'Operator', role: 'operator' } as const;

/** API keys of an organisation, and what the operator sees and changes. */
export const PORTAL_ADMINISTRATION_ENDPOINTS = [
  {
    ...admin,
    ...read,
    operationId: 'listKeys',
    path: KEYS,
    params: ORGANISATION,
    summary: 'List API keys',
    description: 'Also expired and revoked ones, with their last use.',
    responses: readAnswers('The keys.', ApiKeys),
  },
  {
    ...admin,
    operationId: 'createKey',
    method: 'POST',
    path: KEYS,
    params: ORGANISATION,
    write: true,
    summary: 'Create an API key',
    description: 'The answer has the whole key, this once: only its hash is stored.',
    body: ApiKeyInput,
    bodyExamples: { ci: { name: 'ci', abilities: ['firewall.read', 'firewall.manage'] } },
    responses: writeAnswers(201, 'Created.', ApiKeyCreated),
  },
  {
    ...admin,
    operationId: 'revokeKey',
    method: 'DELETE',
    path: `${KEYS}/{key}`,
    params: { ...ORGANISATION, key: idParam('Id of a key.') },
    write: true,
    summary: 'Revoke an API key',
    description:
      'For good, on every replica within two seconds. A key of the fleet file too: it stays revoked whatever the file says.',
    responses: deleteAnswers('Revoked.', ApiKeyRevoked),
  },
  {
    ...operator,
    ...read,
    operationId: 'listOrganisations',
    path: '/operator/organisations',
    summary: 'List organisations',
    description: 'With flags, limits, ASNs, holdings, services and thresholds.',
    responses: readAnswers('The organisations.', Organisations),
  },
  {
    ...operator,
    operationId: 'saveOrganisation',
    method: 'PUT',
    path: '/operator/organisations/{slug}',
    params: {
      slug: Type.String({ description: 'The slug of an organisation; a new one is made.' }),
    },
    write: true,
    summary: 'Create or change an organisation',
    description: 'Its name, flags and limits. One of the fleet file is changed there.',
    body: OrganisationInput,
    responses: writeAnswers(200, 'Saved.', Organisations, ['managed_by_fleet_file']),
  },
  {
    ...operator,
    ...read,
    operationId: 'readFleetHealth',
    path: '/operator/fleet',
    summary: 'Read the health of the fleet',
    description: 'Edges, nodes and collectors, with their last reports.',
    responses: readAnswers('The fleet.', FleetHealth),
  },
  {
    ...operator,
    ...read,
    operationId: 'readAuditTrail',
    path: '/operator/audit',
    query: AuditQuery,
    summary: 'Search the audit trail',
    description: 'What was done, by whom, from where.',
    responses: readAnswers('The entries.', AuditTrail),
  },
] as const satisfies readonly PortalEndpoint[];
