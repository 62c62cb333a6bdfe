import { Type } from 'typebox';
import {
  COMMON,
  type Endpoint,
  type Link,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
  WITH_KEY,
} from '../endpoint.ts';
import {
  FilterCatalogue,
  FilterDeletion,
  FilterInput,
  FiltersCreated,
  FiltersDeleted,
  FirewallAddress,
  RuleDeletion,
  RuleInput,
  RulesCreated,
  RulesDeleted,
} from '../schemas/firewall.ts';
import * as examples from './firewall-examples.ts';

/** Any string: an invalid address is answered 404, like an address of another organisation. */
export const ADDRESS_PARAMS = {
  ip: Type.String({
    description:
      'An address inside a prefix that the organisation announces, or assigned to one of its services. Anything else is 404.',
    examples: ['203.0.113.10'],
  }),
} as const;

/** The problems of every firewall operation. */
export const FIREWALL = ['area_not_enabled', 'not_found'] as const;

const common = {
  tag: 'Firewall',
  flag: 'firewall_api',
  params: ADDRESS_PARAMS,
} as const;

const read = {
  ...common,
  method: 'GET',
  ability: 'firewall.read',
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;
const write = {
  ...common,
  ability: 'firewall.manage',
  write: true,
  requestHeaders: ['Idempotency-Key'],
  idempotent: true,
} as const;

export const READ_HEADERS = [
  ...RATE_HEADERS,
  'ETag',
  'Portcullis-Generation',
  'Portcullis-Accepted-Generation',
  'Portcullis-Enforcement',
] as const;

/** Beyond `/api/v1` a read has no live generation while no edge enforces. */
export const X1_READ_HEADERS = READ_HEADERS.map((name) =>
  name === 'Portcullis-Generation' ? (`${name}?` as const) : name,
);

export const WRITE_HEADERS = [
  ...RATE_HEADERS,
  'Portcullis-Generation',
  'Portcullis-Enforcement',
] as const;

/** A dry run has no generation of its own. */
export const PLANNED_HEADERS = [
  ...RATE_HEADERS,
  'Portcullis-Generation?',
  'Portcullis-Enforcement',
] as const;

export const REPEATABLE_HEADERS = [...WRITE_HEADERS, 'Idempotency-Replayed?'] as const;

const PROPAGATES =
  'The write is accepted at once and takes 3-5 minutes to propagate globally; a read right after it does not show it.';

/** The address of the request, for links. */
export const SAME_ADDRESS = { ip: '$request.path.ip' } as const;

const DELETE_CREATED = {
  operationId: 'deleteRules',
  description: 'The rules that landed can be deleted, also before they are live.',
  parameters: SAME_ADDRESS,
  body: { ids: '$response.body#/data/ids' },
} as const satisfies Link;

const DELETE_LISTED = {
  DeleteRule: {
    operationId: 'deleteRules',
    description: 'A rule that is listed can be deleted, unless a group owns it.',
    parameters: SAME_ADDRESS,
    body: { ids: ['$response.body#/data/rules/0/id'] },
  },
  DeleteFilter: {
    operationId: 'deleteFilters',
    description: 'A filter that is listed can be deleted, unless a group owns it.',
    parameters: SAME_ADDRESS,
    body: { keys: ['$response.body#/data/filters/0/key'] },
  },
} as const satisfies Readonly<Record<string, Link>>;

const READ_ADDRESS = {
  operationId: 'readFirewallAddress',
  description: 'Shows the write once it is live.',
  parameters: SAME_ADDRESS,
} as const satisfies Link;

export const FIREWALL_ENDPOINTS = [
  {
    ...read,
    operationId: 'readFirewallAddress',
    path: '/firewall/ips/{ip}',
    summary: 'Read the rules and filters of an address',
    description:
      'Shows what is live on the address: what every edge in service that serves it has confirmed. Rules are listed allow before deny, then by id; those of firewall groups are among them. `meta.limits` are the limits in force for the organisation.',
    responses: readResponses(FIREWALL, {
      description: 'The address as it is live.',
      schema: FirewallAddress,
      headers: READ_HEADERS,
      example: examples.FIREWALL_ADDRESS,
      links: DELETE_LISTED,
    }),
  },
  {
    ...read,
    operationId: 'listAvailableFilters',
    path: '/firewall/ips/{ip}/filters/available',
    summary: 'List the filters that an address can have',
    description:
      'The catalogue of the address: the way to learn valid slugs. An address that is assigned to a service lacks the filters that the service manages itself, so the catalogues of two addresses may differ.',
    responses: readResponses(FIREWALL, {
      description: 'The catalogue of the address.',
      schema: FilterCatalogue,
      headers: READ_HEADERS,
      example: examples.CATALOGUE,
    }),
  },
  {
    ...write,
    operationId: 'createRules',
    method: 'POST',
    path: '/firewall/ips/{ip}/rules',
    summary: 'Create rules on an address',
    description: `One rule is created per port of \`destination_port\`, in ascending order, one at a time: when \`created\` is lower than \`requested\`, \`ids\` names the ones that landed. When one of them is identical to a rule of the address, or a limit would be passed, nothing is created. A rule that changes no verdict is accepted, and \`message\` names the rule that decides before it.\n\n${PROPAGATES}`,
    body: RuleInput,
    bodyExamples: examples.RULE_BODIES,
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, WITH_KEY, [
        'rule_exists',
        'limit_exceeded',
        'no_port_landed',
      ]),
      201: {
        description: 'Accepted. Not live everywhere yet.',
        schema: RulesCreated,
        headers: REPEATABLE_HEADERS,
        example: examples.RULES_CREATED,
        links: { DeleteCreated: DELETE_CREATED, ReadAddress: READ_ADDRESS },
      },
    },
  },
  {
    ...write,
    operationId: 'deleteRules',
    method: 'DELETE',
    path: '/firewall/ips/{ip}/rules',
    summary: 'Delete rules of an address',
    description: `Ids that are not on this address are skipped silently: compare \`deleted\` with what was sent. When one of the ids belongs to a firewall group, nothing is deleted. A rule that is accepted and not live yet can be deleted.\n\n${PROPAGATES}`,
    body: RuleDeletion,
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, WITH_KEY, ['limit_exceeded', 'managed_by_group']),
      200: {
        description: 'Accepted. Not gone everywhere yet.',
        schema: RulesDeleted,
        headers: REPEATABLE_HEADERS,
        example: examples.RULES_DELETED,
      },
    },
  },
  {
    ...write,
    operationId: 'applyFilters',
    method: 'POST',
    path: '/firewall/ips/{ip}/filters',
    summary: 'Apply a filter to ports of an address',
    description: `Applies one filter to every port of the expression. **All connections that go through these ports must reconnect**: players of a live game server drop. An unknown type and one that this address cannot have are answered alike.\n\n${PROPAGATES}`,
    body: FilterInput,
    bodyExamples: examples.FILTER_BODIES,
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, WITH_KEY, [
        'filter_exists',
        'filter_unavailable',
        'limit_exceeded',
      ]),
      201: {
        description: 'Accepted. Not live everywhere yet.',
        schema: FiltersCreated,
        headers: REPEATABLE_HEADERS,
        example: examples.FILTERS_CREATED,
        links: { ReadAddress: READ_ADDRESS },
      },
    },
  },
  {
    ...write,
    operationId: 'deleteFilters',
    method: 'DELETE',
    path: '/firewall/ips/{ip}/filters',
    summary: 'Delete filters of an address',
    description: `Takes \`key\` values as read from the address; they are not to be assembled. Keys that are not on this address are skipped silently. When one of them belongs to a firewall group, nothing is deleted.\n\n${PROPAGATES}`,
    body: FilterDeletion,
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, WITH_KEY, ['limit_exceeded', 'managed_by_group']),
      200: {
        description: 'Accepted. Not gone everywhere yet.',
        schema: FiltersDeleted,
        headers: REPEATABLE_HEADERS,
        example: examples.FILTERS_DELETED,
      },
    },
  },
] as const satisfies readonly Endpoint[];
