import { Type } from 'typebox';
import type { PortalEndpoint } from '../endpoint.ts';
import { Done } from '../schemas/portal-account.ts';
import {
  AuditQuery,
  AuditTrail,
  FleetHealth,
  HoldingChange,
  HoldingInput,
  OrganisationInput,
  Organisations,
  ServiceInput,
  ThresholdsInput,
  ThresholdSuggestions,
} from '../schemas/portal-operator.ts';
import { MAX_ASN, integer } from '../schemas/values.ts';
import { deleteAnswers, idParam, readAnswers, writeAnswers } from './portal-shared.ts';

const ONE = '/operator/organisations/{slug}';
const SLUG = { slug: Type.String({ description: 'The slug of an organisation.' }) };
const ASN = { ...SLUG, asn: integer({ minimum: 1, maximum: MAX_ASN, description: 'An ASN.' }) };
const SERVICE = { ...SLUG, service: idParam('Number of a service, unique in the fleet.') };
const HOLDING = { ...SLUG, holding: idParam('Id of a holding.') };
const operator = { tag: 'Operator', role: 'operator' } as const;
const read = {
  ...operator,
  method: 'GET',
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;
const save = { ...operator, method: 'PUT', write: true } as const;
const remove = { ...operator, method: 'DELETE', write: true } as const;
const OWNED = ['managed_by_fleet_file'] as const;
const LOSSES = ['managed_by_fleet_file', 'live_objects'] as const;
const saved = 'The organisation as it is now.';

/** What operators see and change. What the fleet file owns is changed there. */
export const PORTAL_OPERATOR_ENDPOINTS = [
  {
    ...read,
    operationId: 'listOrganisations',
    path: '/operator/organisations',
    summary: 'List organisations',
    description: 'With flags, limits, ASNs, holdings, services and thresholds.',
    responses: readAnswers('The organisations.', Organisations),
  },
  {
    ...save,
    operationId: 'saveOrganisation',
    path: ONE,
    params: SLUG,
    summary: 'Create or change an organisation',
    description:
      'Its name, flags and limits. A new slug makes one; one of the fleet file is changed there.',
    body: OrganisationInput,
    responses: writeAnswers(200, saved, Organisations, OWNED),
  },
  {
    ...save,
    operationId: 'addAsn',
    path: `${ONE}/asns/{asn}`,
    params: ASN,
    summary: 'Add an ASN',
    description: 'Under which the organisation announces prefixes.',
    responses: deleteAnswers(saved, Organisations, OWNED),
  },
  {
    ...remove,
    operationId: 'removeAsn',
    path: `${ONE}/asns/{asn}`,
    params: ASN,
    summary: 'Remove an ASN',
    description: 'One that a holding was ever announced under stays, for the history.',
    responses: deleteAnswers(saved, Organisations, OWNED),
  },
  {
    ...save,
    operationId: 'saveService',
    path: `${ONE}/services/{service}`,
    params: SERVICE,
    summary: 'Create or change a service',
    description: 'Its addresses are holdings with its number.',
    body: ServiceInput,
    bodyExamples: { plain: { name: 'survival-1', active: true } },
    responses: writeAnswers(200, saved, Organisations, OWNED),
  },
  {
    ...remove,
    operationId: 'removeService',
    path: `${ONE}/services/{service}`,
    params: SERVICE,
    summary: 'Remove a service',
    description:
      'One without addresses and game servers. One that had addresses is kept for the history, and is not active any more.',
    responses: deleteAnswers(saved, Organisations, OWNED),
  },
  {
    ...operator,
    operationId: 'createHolding',
    method: 'POST',
    path: `${ONE}/holdings`,
    params: SLUG,
    write: true,
    summary: 'Give a prefix or an address',
    description:
      'From a moment on. The most specific holding has an address; equal ones may not overlap in time.',
    body: HoldingInput,
    bodyExamples: {
      prefix: { prefix: '203.0.113.0/24', asn: 64500 },
      'without an ASN': { prefix: '192.0.2.0/24' },
      address: { prefix: '198.51.100.10', service_id: 501 },
    },
    responses: writeAnswers(201, saved, Organisations, LOSSES),
  },
  {
    ...save,
    operationId: 'changeHolding',
    path: `${ONE}/holdings/{holding}`,
    params: HOLDING,
    summary: 'Change when a holding begins and ends',
    description:
      'One that ends stays for the history; its rules are not enforced from then on, and a new holder starts empty.',
    body: HoldingChange,
    responses: writeAnswers(200, saved, Organisations, LOSSES),
  },
  {
    ...remove,
    operationId: 'removeHolding',
    path: `${ONE}/holdings/{holding}`,
    params: HOLDING,
    summary: 'Remove a holding that was never used',
    description: 'One that nothing refers to, or that has not begun. Others are ended.',
    responses: deleteAnswers(saved, Organisations, LOSSES),
  },
  {
    ...read,
    operationId: 'suggestThresholds',
    path: `${ONE}/threshold-suggestions`,
    params: SLUG,
    summary: 'Suggest thresholds',
    description:
      'By the traffic and the attacks of the last seven days, for each address and prefix with a quarter of its threshold, or with attacks.',
    responses: readAnswers('Most traffic first.', ThresholdSuggestions),
  },
  {
    ...save,
    operationId: 'saveThresholds',
    path: `${ONE}/thresholds`,
    params: SLUG,
    summary: 'Set when traffic is an attack',
    description:
      'Thresholds, mitigation and safelist of an organisation, a service or a holding, whole.',
    body: ThresholdsInput,
    responses: writeAnswers(200, saved, Organisations, OWNED),
  },
  {
    ...read,
    operationId: 'readFleetHealth',
    path: '/operator/fleet',
    summary: 'Read the health of the fleet',
    description: 'Edges, nodes and collectors, with their last reports.',
    responses: readAnswers('The fleet.', FleetHealth),
  },
  {
    ...remove,
    operationId: 'removeAgent',
    path: '/operator/fleet/{kind}/{name}',
    params: {
      kind: Type.String({ description: '`edges`, `nodes` or `collectors`.' }),
      name: Type.String({ description: 'Its name.' }),
    },
    summary: 'Remove an edge, a node or a collector',
    description:
      'With its credential. An edge must be out of service, and a node without game servers.',
    responses: deleteAnswers('Removed.', Done, OWNED),
  },
  {
    ...read,
    operationId: 'readAuditTrail',
    path: '/operator/audit',
    query: AuditQuery,
    summary: 'Search the audit trail',
    description: 'What was done, by whom, from where.',
    responses: readAnswers('The entries.', AuditTrail),
  },
] as const satisfies readonly PortalEndpoint[];
