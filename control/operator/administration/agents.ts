import { parseJoinUrl } from '@portcullis/link/join-url.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { operatorActor } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import type { Answer, OperatorCall } from '../../http/operations/operation.ts';
import { timeView } from '../../http/operations/view.ts';
import type { TokenMaker } from '../../agent-credential.ts';
import { approveHost, createToken, loadWaitingHosts } from '../joining/tokens.ts';
import { Problem } from '../../problem.ts';

type Names = 'createJoinCommand' | 'approveHosts';

const DEFAULT_MINUTES = 60;

/** Lets hosts join as edges, nodes and collectors. */
export function createAgentHandlers(publicUrl: string): Pick<Handlers, Names> {
  return {
    createJoinCommand: (call, tx) => createJoin(call, tx, publicUrl),
    async approveHosts(call, tx) {
      const agent = agentOf(call);
      const host = await approveHost(tx, agent, call.body.fingerprint, operatorActor(call));
      if (host !== null) {
        const addresses = host.source === null ? [] : [host.source];
        return { status: 200, body: { data: { addresses } } };
      }
      const waiting = await loadWaitingHosts(tx, agent);
      const listed = waiting.map(({ fingerprint, source }) => `${fingerprint} at ${source}`);
      throw new Problem(
        'not_found',
        `No host with this key waits to be the ${agent.kind} ${agent.name}. ${listed.length === 0 ? 'None waits.' : `These wait: ${listed.join(', ')}.`}`,
      );
    },
  };
}

async function createJoin(
  call: CallOf<'createJoinCommand'>,
  tx: Tx,
  publicUrl: string,
): Promise<Answer> {
  if (parseJoinUrl(publicUrl) === null) {
    throw new Problem(
      'invalid_request',
      `Hosts join over HTTPS only, and control is at ${publicUrl}: start it with a certificate, such as by "portcullis up --hosts", and with the public URL by which hosts reach it.`,
    );
  }
  const agent = agentOf(call);
  const { approve: needsApproval = false, minutes = DEFAULT_MINUTES } = call.body;
  const expiresAt = new Date(Date.now() + minutes * 60_000);
  const wanted = { agent, expiresAt, needsApproval };
  const token = await createToken(tx, wanted, operatorActor(call), makerOf(call));
  if (token === null) {
    const detail = `There is no ${agent.kind} ${agent.name.slice(0, 63)}: make it first.`;
    throw new Problem('not_found', detail);
  }
  const data = {
    command: `portcullis ${agent.kind} join ${publicUrl} ${token}`,
    expires_at: timeView(expiresAt),
  };
  const remembered = { data: { ...data, command: null } };
  return { status: 201, body: { data }, remembered, headers: { 'cache-control': 'no-store' } };
}

function makerOf({ by }: Pick<OperatorCall, 'by'>): TokenMaker {
  return by.kind === 'person' ? { personId: by.id } : { keyId: by.keyId };
}

const KINDS = { edges: 'edge', nodes: 'node', collectors: 'collector' } as const;

function agentOf({ params }: Pick<CallOf<'approveHosts'>, 'params'>): AgentRef {
  const { kind: plural, name } = params;
  const [, kind] = Object.entries(KINDS).find(([known]) => known === plural) ?? [];
  if (kind !== undefined) return { kind, name };
  throw new Problem('not_found', 'Agents are edges, nodes and collectors.');
}
