import type { PortalEndpoint } from '../endpoint.ts';
import {
  ApiKeyCreated,
  ApiKeyInput,
  ApiKeyRevoked,
  ApiKeys,
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

/** API keys of an organisation. */
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
] as const satisfies readonly PortalEndpoint[];
