import type { Endpoint } from './endpoint.ts';
import { acknowledged, answers, refuses } from './responses.ts';
import { AttackPage, AttackQuery } from './schemas/attacks.ts';
import {
  FilterCatalogue,
  FilterDeletion,
  FilterRequest,
  FiltersCreated,
  FiltersDeleted,
  FirewallAddress,
  RuleDeletion,
  RuleRequest,
  RulesCreated,
  RulesDeleted,
} from './schemas/firewall.ts';
import {
  CommandRequest,
  GameServer,
  GameServerList,
  PowerRequest,
} from './schemas/game-servers.ts';

const firewallRead = {
  tag: 'Firewall',
  ability: 'firewall.read',
  flag: 'firewall_api',
  write: false,
} as const;
const firewallWrite = {
  tag: 'Firewall',
  ability: 'firewall.manage',
  flag: 'firewall_api',
  write: true,
} as const;
const serverRead = {
  tag: 'Game servers',
  ability: 'game-servers.read',
  flag: null,
  write: false,
} as const;
const serverWrite = {
  tag: 'Game servers',
  ability: 'game-servers.manage',
  flag: null,
  write: true,
} as const;

const PROPAGATION =
  'Accepted synchronously; takes 3-5 minutes to propagate globally. A read right after the write does not reflect it.';

/** `/api/v1`: the public interface, and nothing else. */
export const ENDPOINTS = [
  {
    ...firewallRead,
    operationId: 'readFirewallAddress',
    method: 'GET',
    path: '/firewall/ips/{ip}',
    summary: 'Read the rules and filters of an address',
    description:
      'What is live: the newest generation that every edge serving the address has in its kernel. Allow rules stand before deny rules, then by id.',
    responses: {
      ...answers(200, 'The rules and filters that are live', FirewallAddress, 'read'),
      ...refuses(false, 'area_not_enabled'),
    },
  },
  {
    ...firewallRead,
    operationId: 'listAvailableFilters',
    method: 'GET',
    path: '/firewall/ips/{ip}/filters/available',
    summary: 'List the filters that can be applied to an address',
    description:
      'The catalogue is per address: an address assigned to a service excludes the default-protection filters that the service manages itself.',
    responses: {
      ...answers(200, 'The filters available on this address', FilterCatalogue, 'read'),
      ...refuses(false, 'area_not_enabled'),
    },
  },
  {
    ...firewallWrite,
    operationId: 'createRules',
    method: 'POST',
    path: '/firewall/ips/{ip}/rules',
    summary: 'Create a rule for each port of an expression',
    description: `One rule is created for each port, one at a time: a request for several ports is not atomic, and \`ids\` names those that landed. ${PROPAGATION}`,
    body: RuleRequest,
    idempotent: true,
    responses: {
      ...answers(
        201,
        'Accepted; `created` below `requested` means that some ports did not land',
        RulesCreated,
        'write',
      ),
      ...refuses(
        true,
        'area_not_enabled',
        'rule_exists',
        'limit_exceeded',
        'idempotency_key_reused',
        'idempotency_in_progress',
        'no_port_landed',
      ),
    },
  },
  {
    ...firewallWrite,
    operationId: 'deleteRules',
    method: 'DELETE',
    path: '/firewall/ips/{ip}/rules',
    summary: 'Delete rules by id',
    description: `Ids that are not on this address are skipped silently: compare \`deleted\` with what you sent. One id owned by a firewall group refuses the whole request. ${PROPAGATION}`,
    body: RuleDeletion,
    responses: {
      ...answers(200, 'Accepted', RulesDeleted, 'write'),
      ...refuses(true, 'area_not_enabled', 'limit_exceeded', 'managed_by_group'),
    },
  },
  {
    ...firewallWrite,
    operationId: 'applyFilters',
    method: 'POST',
    path: '/firewall/ips/{ip}/filters',
    summary: 'Apply a stateful filter to each port of an expression',
    description: `Applying a stateful filter forces all connections going through the port to reconnect. An unknown type and one not available on this address are refused identically. ${PROPAGATION}`,
    body: FilterRequest,
    idempotent: true,
    responses: {
      ...answers(201, 'Accepted', FiltersCreated, 'write'),
      ...refuses(
        true,
        'area_not_enabled',
        'filter_exists',
        'filter_unavailable',
        'limit_exceeded',
        'idempotency_key_reused',
        'idempotency_in_progress',
      ),
    },
  },
  {
    ...firewallWrite,
    operationId: 'deleteFilters',
    method: 'DELETE',
    path: '/firewall/ips/{ip}/filters',
    summary: 'Delete filters by key',
    description: `Take keys from the \`key\` field of a read. Keys that are not on this address are skipped silently. One key owned by a firewall group refuses the whole request. ${PROPAGATION}`,
    body: FilterDeletion,
    responses: {
      ...answers(200, 'Accepted', FiltersDeleted, 'write'),
      ...refuses(true, 'area_not_enabled', 'limit_exceeded', 'managed_by_group'),
    },
  },
  {
    ...serverRead,
    operationId: 'listGameServers',
    method: 'GET',
    path: '/game-servers',
    summary: 'List game servers',
    description:
      'Filtered for each server by the permissions of the key: a short list is a permissions result. By name, then uuid.',
    responses: {
      ...answers(200, 'The servers that this key sees', GameServerList, 'plain'),
      ...refuses(false, 'not_implemented'),
    },
  },
  {
    ...serverRead,
    operationId: 'readGameServer',
    method: 'GET',
    path: '/game-servers/{slice}',
    summary: 'Read one game server with its live state',
    description: '`state` and `resources` come live from the node; null means unknown.',
    responses: {
      ...answers(200, 'The server', GameServer, 'plain'),
      ...refuses(false, 'not_implemented'),
    },
  },
  {
    ...serverWrite,
    operationId: 'sendPowerSignal',
    method: 'POST',
    path: '/game-servers/{slice}/power',
    summary: 'Start, stop, restart or kill a game server',
    description:
      'Says whether the node took the instruction; follow its completion by reading the server.',
    body: PowerRequest,
    responses: acknowledged(),
  },
  {
    ...serverWrite,
    operationId: 'sendCommand',
    method: 'POST',
    path: '/game-servers/{slice}/command',
    summary: 'Send one line to the console of a game server',
    description: 'Says whether the node took the command; carries no console output.',
    body: CommandRequest,
    responses: acknowledged(),
  },
  {
    tag: 'Attacks',
    ability: 'attacks.read',
    flag: 'attack_history_api',
    write: false,
    operationId: 'listAttacks',
    method: 'GET',
    path: '/attacks',
    summary: 'List attacks against your addresses',
    description:
      'Newest first. The window selects attacks that overlap it. Follow `links.next` until it is null; links pin the window, so pages do not shift.',
    query: AttackQuery,
    responses: {
      ...answers(200, 'A page of attacks', AttackPage, 'plain'),
      ...refuses(false, 'area_not_enabled', 'not_implemented'),
    },
  },
] as const satisfies readonly Endpoint[];
