import type { PortalEndpoint } from '../endpoint.ts';
import { AgentState, AgentStateRequest, Joined, JoinRequest } from '../schemas/portal-agents.ts';
import { writeAnswers } from './portal-shared.ts';

const host = { tag: 'Operator', role: 'anyone', method: 'POST' } as const;

/** Endpoints that a new host calls, with a token or its credential in place of a session. */
export const PORTAL_AGENT_ENDPOINTS = [
  {
    ...host,
    operationId: 'joinFleet',
    path: '/agents/join',
    write: 'instructs',
    summary: 'Trade a token for a credential',
    description:
      'A token works once and for the agent that it names. A refusal says why: unknown, used, expired, or of another kind.',
    body: JoinRequest,
    responses: writeAnswers(200, 'The credential, or null while approval is missing.', Joined),
  },
  {
    ...host,
    operationId: 'readAgentState',
    path: '/agents/state',
    write: false,
    summary: 'Read whether an agent is live',
    description: 'For the agent itself: its credential names it.',
    body: AgentStateRequest,
    responses: writeAnswers(200, 'How control sees the agent.', AgentState),
  },
] as const satisfies readonly PortalEndpoint[];
