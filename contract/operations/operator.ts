import type { OperatorEndpoint } from '../endpoint.ts';
import {
  ApiKeyInput,
  ApiKeyRevoked,
  ApiKeys,
  OrganisationKeyCreated,
  ThresholdSuggestions,
} from '../schemas/operator.ts';
import {
  create,
  createAnswer,
  doneAnswer,
  read,
  readAnswer,
  remove,
  SLUG,
} from './operator-shared.ts';
import { idParam } from './portal-shared.ts';

const ONE = '/organisations/{slug}';

/** Threshold suggestions and API keys of an organisation. */
export const OPERATOR_ENDPOINTS = [
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
