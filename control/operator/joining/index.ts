import { sql } from 'kysely';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { unauthenticated } from '../../access/index.ts';
import { admitAgent } from '../../agent-credential.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Handlers } from '../../http/operations/handlers.ts';
import { redeemToken } from './tokens.ts';

type JoiningHandlers = Pick<Handlers, 'joinFleet' | 'readAgentState'>;

/** How hosts join the fleet. */
export function createJoining(): { readonly handlers: JoiningHandlers } {
  return {
    handlers: {
      async joinFleet({ body, source, requestId, write }) {
        const { kind, token, public_key, signature } = body;
        const isProven = public_key !== undefined && signature !== undefined;
        const proof = isProven ? { public_key, signature } : null;
        const data = await write((tx) =>
          redeemToken(tx, { kind, token, proof, source, requestId }),
        );
        return { status: 200, body: { data } };
      },
      async readAgentState({ body: { kind, name, secret } }, db) {
        const admission = await admitAgent(db, { kind, name }, secret);
        if (!admission.ok) throw unauthenticated(admission.reason);
        return { status: 200, body: { data: await loadState(db, { kind, name }) } };
      },
    },
  };
}

interface State {
  readonly connected: boolean;
  readonly live: boolean;
  readonly reason: string | null;
}

/** An enrolment clears the instance, and the first hello sets it. A node without its engine runs nothing, so it is not live. */
async function loadState(db: Db | Tx, { kind, name }: AgentRef): Promise<State> {
  const { rows } = await (kind === 'edge'
    ? sql<State>`
        select instance is not null as connected, in_service as live,
               case when mode = 'observe' then coalesce(mode_reason, 'it was started without --enforce')
                    else mode_reason end as reason
          from edges where name = ${name}`
    : kind === 'node'
      ? sql<State>`
        select instance is not null as connected,
               instance is not null and engine is not null and engine->>'problem' is null as live,
               engine->>'problem' as reason
          from nodes where name = ${name}`
      : sql<State>`
        select instance is not null as connected, instance is not null as live, null as reason
          from collectors where name = ${name}`
  ).execute(db);
  return rows[0] ?? { connected: false, live: false, reason: null };
}
