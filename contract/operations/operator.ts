import type { OperatorEndpoint } from '../endpoint.ts';
import {
  ApiKeyInput,
  ApiKeyRevoked,
  ApiKeys,
  HoldingChange,
  HoldingInput,
  OrganisationInput,
  OrganisationQuery,
  OrganisationKeyCreated,
  Organisations,
  ServiceInput,
  ThresholdsInput,
  ThresholdSuggestions,
} from '../schemas/operator.ts';
import { MAX_ASN, integer } from '../schemas/values.ts';
import {
  create,
  createAnswer,
  doneAnswer,
  read,
  readAnswer,
  remove,
  save,
  saveAnswer,
  SLUG,
} from './operator-shared.ts';
import { deleteAnswers, idParam } from './portal-shared.ts';

const ONE = '/organisations/{slug}';
const ASN = { ...SLUG, asn: integer({ minimum: 1, maximum: MAX_ASN, description: 'An ASN.' }) };
const SERVICE = { ...SLUG, service: idParam('Number of a service, unique in the fleet.') };
const HOLDING = { ...SLUG, holding: idParam('Id of a holding.') };
const LOSSES = ['live_objects'] as const;
const saved = 'The organisation as it is now.';

/** Organisations and what they have. What the fleet file owns is changed there. */
export const OPERATOR_ENDPOINTS = [
  {
    ...read,
    operationId: 'listOrganisations',
    path: '/organisations',
    query: OrganisationQuery,
    summary: 'List organisations',
    description: 'With flags, limits, ASNs, holdings, services and thresholds.',
    responses: readAnswer('The organisations.', Organisations),
  },
  {
    ...read,
    operationId: 'readOrganisation',
    path: ONE,
    params: SLUG,
    summary: 'Read an organisation',
    description: 'As the list has it.',
    responses: readAnswer('The organisation.', Organisations),
  },
  {
    ...save,
    operationId: 'saveOrganisation',
    path: ONE,
    params: SLUG,
    summary: 'Create or change an organisation',
    description: 'A new slug makes one. Of one that exists, what is left out stays as it is.',
    bodyExamples: { customer: { name: 'Acme Hosting', external_id: 'whmcs-17' } },
    body: OrganisationInput,
    responses: saveAnswer(saved, Organisations),
  },
  {
    ...remove,
    operationId: 'endOrganisation',
    path: ONE,
    params: SLUG,
    summary: 'End an organisation',
    description:
      'One without game servers and addresses: its flags are taken and its keys revoked. It is kept for the history, and saving it again brings it back.',
    responses: doneAnswer(saved, Organisations),
  },
  {
    ...save,
    operationId: 'addAsn',
    path: `${ONE}/asns/{asn}`,
    params: ASN,
    summary: 'Add an ASN',
    description: 'Under which the organisation announces prefixes.',
    responses: deleteAnswers(saved, Organisations, [
      'ability_missing',
      'conflict',
      'managed_by_fleet_file',
    ]),
  },
  {
    ...remove,
    operationId: 'removeAsn',
    path: `${ONE}/asns/{asn}`,
    params: ASN,
    summary: 'Remove an ASN',
    description: 'One that a holding was ever announced under stays, for the history.',
    responses: doneAnswer(saved, Organisations),
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
    responses: saveAnswer(saved, Organisations),
  },
  {
    ...remove,
    operationId: 'removeService',
    path: `${ONE}/services/{service}`,
    params: SERVICE,
    summary: 'Remove a service',
    description:
      'One without addresses and game servers. One that had addresses is kept for the history, and is not active any more.',
    responses: doneAnswer(saved, Organisations),
  },
  {
    ...create,
    operationId: 'createHolding',
    path: `${ONE}/holdings`,
    params: SLUG,
    summary: 'Give a prefix or an address',
    description:
      'From a moment on. The most specific holding has an address; equal ones may not overlap in time.',
    body: HoldingInput,
    bodyExamples: {
      prefix: { prefix: '203.0.113.0/24', asn: 64500 },
      'without an ASN': { prefix: '192.0.2.0/24' },
      address: { prefix: '198.51.100.10', service_id: 501 },
    },
    responses: createAnswer(saved, Organisations, LOSSES),
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
    responses: saveAnswer(saved, Organisations, LOSSES),
  },
  {
    ...remove,
    operationId: 'removeHolding',
    path: `${ONE}/holdings/{holding}`,
    params: HOLDING,
    summary: 'Remove a holding that was never used',
    description: 'One that nothing refers to, or that has not begun. Others are ended.',
    responses: doneAnswer(saved, Organisations, LOSSES),
  },
  {
    ...read,
    operationId: 'suggestThresholds',
    path: `${ONE}/threshold-suggestions`,
    params: SLUG,
    summary: 'Suggest thresholds',
    description:
      'By the traffic and the attacks of the last seven days, for each address and prefix with a quarter of its threshold, or with attacks.',
    responses: readAnswer('Most traffic first.', ThresholdSuggestions),
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
    responses: saveAnswer(saved, Organisations),
  },
  {
    ...read,
    operationId: 'listOrganisationKeys',
    path: `${ONE}/keys`,
    params: SLUG,
    summary: 'List the API keys of an organisation',
    description: 'Also expired and revoked ones, with their last use.',
    responses: readAnswer('The keys.', ApiKeys),
  },
  {
    ...create,
    operationId: 'createOrganisationKey',
    path: `${ONE}/keys`,
    params: SLUG,
    summary: 'Create an API key of an organisation',
    description:
      'The answer has the whole key, this once: only its hash is stored. If the answer is lost, revoke the key and create another.',
    body: ApiKeyInput,
    bodyExamples: { panel: { name: 'panel', abilities: ['game-servers.read'] } },
    responses: createAnswer('Created.', OrganisationKeyCreated),
  },
  {
    ...remove,
    operationId: 'revokeOrganisationKey',
    path: `${ONE}/keys/{key}`,
    params: { ...SLUG, key: idParam('Id of a key.') },
    summary: 'Revoke an API key of an organisation',
    description: 'For good, also one of the fleet file.',
    responses: doneAnswer('Revoked.', ApiKeyRevoked),
  },
] as const satisfies readonly OperatorEndpoint[];
