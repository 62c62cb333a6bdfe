import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_BODY,
  WITH_KEY,
} from './endpoint.ts';
import {
  ADDRESS_PARAMS,
  FIREWALL,
  PLANNED_HEADERS,
  X1_READ_HEADERS,
  REPEATABLE_HEADERS,
  SAME_ADDRESS,
  WRITE_HEADERS,
} from './operations/firewall.ts';
import { X1_ATTACK_ENDPOINTS } from './operations/attacks.ts';
import { X1_BLOCKED_ENDPOINTS } from './operations/x1-blocked.ts';
import { X1_EVENT_ENDPOINTS } from './operations/x1-events.ts';
import { X1_FILTER_ENDPOINTS } from './operations/x1-filters.ts';
import { X1_SAMPLE_ENDPOINTS } from './operations/x1-samples.ts';
import { X1_FILE_ENDPOINTS } from './operations/servers/files.ts';
import { X1_GAME_SERVER_ENDPOINTS } from './operations/game-servers.ts';
import { SELF_SERVICE_ENDPOINTS } from './operations/servers/self-service.ts';
import { SERVER_PEOPLE_ENDPOINTS } from './operations/servers/people.ts';
import { SERVER_PORT_ENDPOINTS } from './operations/servers/ports.ts';
import { SERVER_SETTINGS_ENDPOINTS } from './operations/servers/settings.ts';
import * as examples from './operations/x1-examples.ts';
import {
  AcceptedAddress,
  AddressReplaced,
  AddressReplacement,
  DefaultChange,
  DefaultChanged,
  DefaultPreview,
  HeldAddresses,
  HeldAddressesQuery,
  ReplaceQuery,
  RuleBatch,
} from './schemas/x1-firewall.ts';
import { Explanation, ExplainRequest } from './schemas/x1-explain.ts';
import { FilterSettingsChange } from './schemas/x1-filter-settings.ts';
import { Drops, DropsQuery } from './schemas/x1-drops.ts';

export const X1_PREFIX = '/api/x1';

const common = { tag: 'Firewall', flag: 'firewall_api' } as const;
const read = {
  ...common,
  method: 'GET',
  ability: 'firewall.read',
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;

/** The interface /api/x1 for callers, CLI and portal. It may change. */
export const X1_ENDPOINTS = [
  {
    ...read,
    operationId: 'listHeldAddresses',
    path: '/firewall/ips',
    summary: 'List held prefixes and addresses',
    description:
      'The prefixes that the organisation announces; the addresses assigned to its services, and those that have rules, filters, groups, geo rules, a default or blocked sources of their own, that packets were dropped to in the last hour, or that were attacked in the last day, as far as the key may see them. Addresses come in pages: follow `links.next` until it is null.',
    query: HeldAddressesQuery,
    responses: readResponses(['area_not_enabled'], {
      description: 'What is held now.',
      schema: HeldAddresses,
      headers: X1_READ_HEADERS,
      example: examples.HELD,
      links: {
        ReadAddress: {
          operationId: 'readAcceptedAddress',
          description: 'Each address that is listed can be read.',
          parameters: { ip: '$response.body#/data/addresses/0/ip' },
        },
      },
    }),
  },
  {
    ...read,
    operationId: 'readAcceptedAddress',
    path: '/firewall/ips/{ip}',
    params: ADDRESS_PARAMS,
    summary: 'Read what is accepted for an address',
    description:
      'Every rule and filter that was accepted, each `live`, `pending` or `going` (deleted, and still on some edge), and how far each edge that serves the address has come. The `ETag` is what a replace takes as `If-Match`.',
    responses: readResponses(FIREWALL, {
      description: 'The address as accepted.',
      schema: AcceptedAddress,
      headers: X1_READ_HEADERS,
      example: examples.ACCEPTED,
      links: {
        Replace: {
          operationId: 'replaceAddress',
          description: 'Only if nobody wrote to the address since.',
          parameters: { ...SAME_ADDRESS, 'If-Match': '$response.header.ETag' },
        },
      },
    }),
  },
  {
    ...common,
    operationId: 'replaceAddress',
    method: 'PUT',
    path: '/firewall/ips/{ip}',
    params: ADDRESS_PARAMS,
    ability: 'firewall.manage',
    write: true,
    dryRun: 'firewall.read',
    query: ReplaceQuery,
    summary: 'Replace the own rules and filters of an address',
    description:
      'Makes the address’s own rules and filters exactly those of the body, in one transaction: what is there already stays with its id, what is missing is created, the rest is deleted. The member `data` of a read can be sent back as it is. Objects of firewall groups are not touched. With `If-Match` nothing happens (412) when somebody else wrote to the address since it was read. The answer is the difference. With `dry_run=true` nothing is written: the answer has the difference that the same request would make, or the problem that it would meet, and `created` and `deleted` are empty.',
    requestHeaders: ['If-Match'],
    body: AddressReplacement,
    bodyExamples: { 'web-server': examples.REPLACEMENT },
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, [
        'precondition_failed',
        'rule_exists',
        'filter_exists',
        'filter_unavailable',
        'limit_exceeded',
      ]),
      200: {
        description: 'Accepted. Not live everywhere yet. Of a dry run: what would be.',
        schema: AddressReplaced,
        headers: PLANNED_HEADERS,
        example: examples.REPLACED,
        links: {
          ReadAccepted: {
            operationId: 'readAcceptedAddress',
            description: 'Shows how far what was accepted has come.',
            parameters: SAME_ADDRESS,
          },
        },
      },
    },
  },
  {
    ...common,
    operationId: 'addRules',
    method: 'POST',
    path: '/firewall/ips/{ip}/rules',
    params: ADDRESS_PARAMS,
    ability: 'firewall.manage',
    write: true,
    summary: 'Create several rules of an address, with notes and tags',
    description:
      'All of them in one change, or none. Each is expanded to one rule a port, which share its note and tags; these are private to the organisation and shown in the portal.',
    requestHeaders: ['Idempotency-Key'],
    idempotent: true,
    body: RuleBatch,
    bodyExamples: { pasted: examples.RULE_BATCH },
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, WITH_KEY, ['rule_exists', 'limit_exceeded']),
      201: {
        description: 'Accepted. Not live everywhere yet.',
        schema: AddressReplaced,
        headers: REPEATABLE_HEADERS,
        example: examples.RULES_ADDED,
        links: {
          ReadAccepted: {
            operationId: 'readAcceptedAddress',
            description: 'Shows how far what was accepted has come.',
            parameters: SAME_ADDRESS,
          },
        },
      },
    },
  },
  {
    ...common,
    operationId: 'setFilterSettings',
    method: 'PUT',
    path: '/firewall/ips/{ip}/filter-settings',
    params: ADDRESS_PARAMS,
    ability: 'firewall.manage',
    write: true,
    summary: 'Set what filters of an address let through',
    description:
      'Replaces the settings of own filters: rates, lengths of packets, source ports. Connections go on: unlike a new filter, settings make nobody reconnect.',
    body: FilterSettingsChange,
    bodyExamples: { launch: examples.FILTER_SETTINGS },
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, ['managed_by_group']),
      200: {
        description: 'Accepted. Not live everywhere yet.',
        schema: AddressReplaced,
        headers: WRITE_HEADERS,
        example: examples.FILTER_SETTINGS_SET,
      },
    },
  },
  {
    ...common,
    operationId: 'setDefault',
    method: 'PUT',
    path: '/firewall/defaults',
    ability: 'firewall.manage',
    write: true,
    summary: 'Set what happens to packets that no rule matches',
    description:
      'The default of an address or of a prefix inside a holding: `deny` drops every packet that no rule allows, `accept` passes it, null removes what was set here. The most specific one that is set applies, else `accept`. It is read after all rules; answers to connections that the protected host opened, ICMP that networks need, management ports and the operator’s baseline come before it.',
    body: DefaultChange,
    bodyExamples: { close: examples.CLOSING },
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY, ['limit_exceeded', 'managed_by_fleet_file']),
      200: {
        description: 'Accepted. Not live everywhere yet.',
        schema: DefaultChanged,
        headers: [...RATE_HEADERS, 'Portcullis-Generation'],
        example: examples.CLOSED_ADDRESS,
      },
    },
  },
  {
    ...read,
    operationId: 'previewDefault',
    path: '/firewall/ips/{ip}/default-preview',
    params: ADDRESS_PARAMS,
    summary: 'Preview what a default of deny would drop',
    description:
      'What a default of deny would drop of the packets to the address that edges sampled in the last day, by protocol and port, and by the rules that are accepted now. Edges sample what passes them: packets of connections that were not answered yet and one of 64 others, at most 20 sources an hour of each port. An edge that sees one direction samples one of 64. So the numbers are of samples, not of packets, and a port with little traffic may be missing. Answers to connections that the protected host opens are not among them where edges see both directions, and what is dropped already is in no sample. Ports by which edge hosts themselves are managed always pass and are shown like others. Nothing is written.',
    responses: readResponses(FIREWALL, {
      description: 'The preview.',
      schema: DefaultPreview,
      headers: X1_READ_HEADERS,
      example: examples.DEFAULT_PREVIEW,
    }),
  },
  {
    ...common,
    operationId: 'explainPacket',
    method: 'POST',
    path: '/firewall/ips/{ip}/explain',
    params: ADDRESS_PARAMS,
    ability: 'firewall.read',
    write: false,
    summary: 'Explain what happens to a packet',
    description:
      'Whether a packet to the address would pass, which rule or filter decides, and why: by the same evaluator that the edges are tested against. Every edge that serves the address is asked too, and answers by what its kernel was given: where it is behind, or its kernel was changed by somebody else, the answer says so. Without a source the answer says from where packets pass, and no edge is asked; so it is with a change, which is judged and not made. Waits up to 1.5 s for an edge that is away. Nothing is sent to the address and nothing is written.',
    body: ExplainRequest,
    bodyExamples: examples.PACKETS,
    responses: {
      ...refusals(COMMON, FIREWALL, WITH_BODY),
      200: {
        description: 'The verdict.',
        schema: Explanation,
        headers: RATE_HEADERS,
        example: examples.EXPLANATION,
      },
    },
  },
  {
    ...read,
    operationId: 'readDrops',
    path: '/firewall/ips/{ip}/drops',
    params: ADDRESS_PARAMS,
    summary: 'See what was dropped',
    description:
      'Packets to the address that edges dropped: counts by reason and by minute, and a sample of the packets. Edges report every 15 seconds. Counts are exact, but for a flood that reaches the packet filter behind the early drop: of more than 20,000 packets a second the sum is exact, and the share of each address is what it has of those counted. Of the packets a few are kept. A day is kept, and only of the time since the address became the caller’s. `from` and `to` are taken to the minute.',
    query: DropsQuery,
    responses: readResponses(FIREWALL, {
      description: 'What was dropped.',
      schema: Drops,
      headers: X1_READ_HEADERS,
      example: examples.DROPS,
      links: {
        Explain: {
          operationId: 'explainPacket',
          description: 'Says which rule drops a packet like one of the samples.',
          parameters: SAME_ADDRESS,
        },
      },
    }),
  },
  ...X1_SAMPLE_ENDPOINTS,
  ...X1_FILTER_ENDPOINTS,
  ...X1_BLOCKED_ENDPOINTS,
  ...X1_GAME_SERVER_ENDPOINTS,
  ...SELF_SERVICE_ENDPOINTS,
  ...X1_FILE_ENDPOINTS,
  ...SERVER_PEOPLE_ENDPOINTS,
  ...SERVER_PORT_ENDPOINTS,
  ...SERVER_SETTINGS_ENDPOINTS,
  ...X1_ATTACK_ENDPOINTS,
  ...X1_EVENT_ENDPOINTS,
] as const satisfies readonly Endpoint[];
