import type { Endpoint } from './endpoint.ts';
import { answers, refuses } from './responses.ts';
import {
  AcceptedAddress,
  AddressReplaced,
  AddressReplacement,
  ExplainRequest,
  Explanation,
  HeldAddresses,
  HeldAddressesQuery,
} from './schemas/firewall.ts';

const read = {
  tag: 'Firewall',
  ability: 'firewall.read',
  flag: 'firewall_api',
  write: false,
} as const;

/** `/api/x1`: what command line and portal need beyond the interface. Allowed to change. */
export const X1_ENDPOINTS = [
  {
    ...read,
    operationId: 'listHeldAddresses',
    method: 'GET',
    path: '/firewall/ips',
    summary: 'List held prefixes, assigned and configured addresses',
    description: 'Addresses in order; follow `links.next` until it is null.',
    query: HeldAddressesQuery,
    responses: {
      ...answers(200, 'What this key may touch', HeldAddresses, 'read'),
      ...refuses(false, 'area_not_enabled'),
    },
  },
  {
    ...read,
    operationId: 'readAcceptedAddress',
    method: 'GET',
    path: '/firewall/ips/{ip}',
    summary: 'Read what is accepted for an address, and how far it is live',
    description:
      'Every object with its propagation, and every edge that serves the address with what it has.',
    responses: {
      ...answers(200, 'The accepted view', AcceptedAddress, 'read'),
      ...refuses(false, 'area_not_enabled'),
    },
  },
  {
    tag: 'Firewall',
    ability: 'firewall.manage',
    flag: 'firewall_api',
    write: true,
    operationId: 'replaceAddress',
    method: 'PUT',
    path: '/firewall/ips/{ip}',
    summary: 'Replace the own rules and filters of an address whole',
    description:
      'One transaction: all of it or nothing. What stays the same keeps its id. Objects of firewall groups are untouched. Send the ETag of the accepted view in If-Match to be sure that nobody else changed it meanwhile.',
    body: AddressReplacement,
    conditional: true,
    responses: {
      ...answers(200, 'Accepted: the difference that was applied', AddressReplaced, 'write'),
      ...refuses(
        true,
        'area_not_enabled',
        'rule_exists',
        'filter_exists',
        'filter_unavailable',
        'limit_exceeded',
        'precondition_failed',
      ),
    },
  },
  {
    ...read,
    operationId: 'explainPacket',
    method: 'POST',
    path: '/firewall/ips/{ip}/explain',
    summary: 'Ask whether a packet would pass, and what decides',
    description:
      'Answered by the reference evaluator over the accepted or the live policy of the address. Changes nothing.',
    body: ExplainRequest,
    responses: {
      ...answers(200, 'The verdict', Explanation, 'plain'),
      ...refuses(true, 'area_not_enabled'),
    },
  },
] as const satisfies readonly Endpoint[];
