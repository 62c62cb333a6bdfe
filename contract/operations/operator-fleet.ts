import { Type } from 'typebox';
import { type OperatorEndpoint, WITH_BODY } from '../endpoint.ts';
import {
  ApprovalInput,
  ApprovedHosts,
  AuditQuery,
  AuditTrail,
  CollectorInput,
  EnforceCommand,
  FleetHealth,
  JoinCommand,
  JoinInput,
  NodeInput,
} from '../schemas/operator-fleet.ts';
import { Done } from '../schemas/portal-account.ts';
import {
  create,
  createAnswer,
  doneAnswer,
  read,
  readAnswer,
  remove,
  save,
  saveAnswer,
} from './operator-shared.ts';

const NAME = { name: Type.String({ description: 'Its name.' }) };
const AGENT = { kind: Type.String({ description: '`edges`, `nodes` or `collectors`.' }), ...NAME };

/** The hosts of the fleet, and the audit trail. */
export const OPERATOR_FLEET_ENDPOINTS = [
  {
    ...read,
    operationId: 'readFleetHealth',
    path: '/fleet',
    summary: 'Read the health of the fleet',
    description: 'Edges, nodes and collectors, with their last reports.',
    responses: readAnswer('The fleet.', FleetHealth),
  },
  {
    ...read,
    operationId: 'readEnforceCommand',
    path: '/fleet/enforce-command',
    summary: 'Read the command that starts enforcement',
    description:
      'As it is run on the host of `portcullis up`, whose edge only observes until then.',
    responses: readAnswer('The command.', EnforceCommand),
  },
  {
    ...save,
    operationId: 'saveNode',
    path: '/nodes/{name}',
    params: NAME,
    summary: 'Create or change a node',
    description: 'What is left out gets its default.',
    body: NodeInput,
    bodyExamples: { plain: { memory: 65_536, addresses: ['198.51.100.10'] } },
    responses: saveAnswer('The fleet.', FleetHealth),
  },
  {
    ...save,
    operationId: 'saveCollector',
    path: '/collectors/{name}',
    params: NAME,
    summary: 'Create or change a collector',
    description: 'What is left out gets its default.',
    body: CollectorInput,
    bodyExamples: {
      sflow: {
        listen: '0.0.0.0:6343',
        exporters: [{ ip: '192.0.2.1', sampling_rate: 1_000, prefixes: ['203.0.113.0/24'] }],
      },
    },
    responses: saveAnswer('The fleet.', FleetHealth),
  },
  {
    ...remove,
    operationId: 'removeAgent',
    path: '/fleet/{kind}/{name}',
    params: AGENT,
    summary: 'Remove a node or a collector',
    description: 'With its credential. A node must have no game servers.',
    responses: doneAnswer('Removed.', Done),
  },
  {
    ...create,
    operationId: 'createJoinCommand',
    path: '/fleet/{kind}/{name}/join',
    params: AGENT,
    summary: 'Make the command by which a host joins',
    description: 'One command for one host, which becomes this edge, node or collector.',
    body: JoinInput,
    bodyExamples: { plain: {} },
    responses: createAnswer('The command.', JoinCommand),
  },
  {
    ...create,
    operationId: 'approveHosts',
    path: '/fleet/{kind}/{name}/approve',
    params: AGENT,
    summary: 'Approve the host that waits',
    description:
      'One that joined with a command that asked for approval, by the fingerprint that it shows. The credential is for that host only. A refusal names the fingerprints that wait.',
    body: ApprovalInput,
    bodyExamples: { plain: { fingerprint: '1b9f-02c4-77de-a310-5c88-f0e2-94ab-6d13' } },
    responses: doneAnswer('Approved.', ApprovedHosts, WITH_BODY),
  },
  {
    ...read,
    operationId: 'readAuditTrail',
    path: '/audit',
    query: AuditQuery,
    summary: 'Search the audit trail',
    description: 'What was done, by whom, from where.',
    responses: readAnswer('The entries.', AuditTrail),
  },
] as const satisfies readonly OperatorEndpoint[];
