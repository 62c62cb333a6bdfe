import { parseJoinUrl } from '@portcullis/link/join-url.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { operatorActor, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { completeExporters, loadExporters, saveCollector } from '../declared/collectors.ts';
import { saveNode } from '../declared/nodes.ts';
import { parsePart } from '../fleet-file/part.ts';
import { parseCollectors } from '../fleet-file/parse/collectors.ts';
import { parseNodes } from '../fleet-file/parse/game-servers.ts';
import type { Batch } from '../fleet/batch.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import type { Answer, OperatorCall } from '../http/operations/operation.ts';
import { timeView } from '../http/operations/view.ts';
import { approveHost, createToken, loadWaitingHosts, type TokenMaker } from '../joining/tokens.ts';
import { Problem } from '../problem.ts';
import { findAgent, readFleet } from './fleet.ts';
import { operate } from '../operator/index.ts';

type Names = 'saveNode' | 'saveCollector' | 'createJoinCommand' | 'approveHosts';

const DEFAULT_MINUTES = 60;

/** Makes and changes edges, nodes and collectors, and lets hosts join as them. */
export function createAgentHandlers(publicUrl: string): Pick<Handlers, Names> {
  return {
    saveNode: (call, tx) =>
      save(call, tx, 'node', async (batch, name) => {
        const entries = [{ name, ...withoutNulls(call.body) }];
        const [node] = parsePart(entries, (scope) => parseNodes(entries, scope));
        if (node !== undefined) await saveNode(batch, node);
      }),
    saveCollector: (call, tx) =>
      save(call, tx, 'collector', async (batch, name) => {
        const entries = [{ name, ...call.body }];
        const [collector] = parsePart(entries, (scope) => parseCollectors(entries, scope));
        if (collector === undefined) return;
        const exporters = completeExporters(
          collector.exporters,
          await loadExporters(batch.tx, name),
        );
        if (!exporters.ok) throw new Problem('invalid_request', exporters.reason);
        await saveCollector(batch, { ...collector, exporters: exporters.value });
      }),
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

async function save(
  call: OperatorCall<{ readonly name: string }>,
  tx: Tx,
  kind: AgentRef['kind'],
  write: (batch: Batch, name: string) => Promise<void>,
): Promise<Answer> {
  const { name } = call.params;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
    const detail = 'A name has letters, digits, dots, dashes and underscores, 63 at most.';
    throw new Problem('not_found', detail);
  }
  return operate(tx, async (batch) => {
    const before = await findAgent(tx, `${kind}s`, name);
    if (before !== null) batch.requireOwn(before.owner, `The ${kind} ${name}`);
    await write(batch, name);
    const action = `${kind}.${before === null ? 'create' : 'change'}`;
    const generation = await batch.takeGeneration(action);
    await recordAudit(tx, {
      actor: operatorActor(call),
      organisationId: null,
      action,
      target: `${kind}:${name}`,
      detail: Object(call.body),
      generation,
    });
    return { status: 200, body: { data: await readFleet(tx) } };
  });
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

function withoutNulls<T extends object>(body: T) {
  const given = Object.entries(body).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as { [Name in keyof T]: Exclude<T[Name], null> };
}
