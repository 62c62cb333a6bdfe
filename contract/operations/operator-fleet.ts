import { Type } from 'typebox';
import { type OperatorEndpoint, WITH_BODY } from '../endpoint.ts';
import {
  ApprovalInput,
  ApprovedHosts,
  AuditQuery,
  AuditTrail,
  EnforceCommand,
  FleetHealth,
  JoinCommand,
  JoinInput,
} from '../schemas/operator-fleet.ts';
import { create, createAnswer, doneAnswer, read, readAnswer } from './operator-shared.ts';

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
