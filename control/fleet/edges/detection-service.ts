import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type {
  EdgeAttacks,
  WatchAsk,
  WatchRequest,
  WatchSamples,
} from '@portcullis/link/messages/attacks.ts';

/**
 * Takes what edges and collectors measure. Who speaks is vouched for by the transport; that the agent is of the
 * fleet, and which site it is of, the desk looks up.
 */
export interface WatchDesk {
  settings(from: AgentRef, asked: WatchAsk): Promise<ControlReply>;
  samples(from: AgentRef, message: WatchSamples): Promise<ControlReply>;
  attacks(from: AgentRef, message: EdgeAttacks): Promise<ControlReply>;
}

/** Nobody records attacks here: agents go on without. */
export const NO_WATCH_DESK: WatchDesk = {
  settings: unsupported,
  samples: unsupported,
  attacks: unsupported,
};

async function unsupported(): Promise<ControlReply> {
  const detail = 'This control plane does not take measurements of traffic.';
  return { kind: 'refused', code: 'unsupported', detail };
}

export function takeWatch(
  desk: WatchDesk,
  from: AgentRef,
  request: WatchRequest,
): Promise<ControlReply> {
  switch (request.kind) {
    case 'watch.ask':
      return desk.settings(from, request);
    case 'watch.samples':
      return desk.samples(from, request);
    case 'edge.attacks':
    default:
      return desk.attacks(from, request);
  }
}
