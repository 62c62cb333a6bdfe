import type { AgentRequest, ControlReply, Refused } from '@portcullis/link/messages/messages.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';

const REQUEST_MS = 30_000;

/** Control refused a request. */
export class RefusedByControl extends Error {
  override readonly name = 'RefusedByControl';
  readonly code: Refused['code'];
  constructor(refused: Refused) {
    super(refused.detail);
    this.code = refused.code;
  }
}

/** Sends a request that has a reply of this kind. Rejects with `LinkError`, `RefusedByControl`, or an error that names another kind. */
export async function request<const K extends ControlReply['kind']>(
  link: AgentSide,
  request: AgentRequest,
  kind: K,
): Promise<Extract<ControlReply, { kind: K }>> {
  const reply = await link.request(request, REQUEST_MS);
  if (isOf(reply, kind)) return reply;
  if (reply.kind === 'refused') throw new RefusedByControl(reply);
  throw new Error(`control answered with ${reply.kind}`);
}

function isOf<K extends ControlReply['kind']>(
  reply: ControlReply,
  kind: K,
): reply is Extract<ControlReply, { kind: K }> {
  return reply.kind === kind;
}
