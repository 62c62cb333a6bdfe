import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type {
  EdgeAttacks,
  SettingsRequest,
  WatchRequest,
  WatchSamples,
} from '@portcullis/link/messages/attacks.ts';
import type { BoundRequest } from './scope.ts';

/** Receives the measurements of edges and collectors. */
export interface DetectionService {
  settings(from: AgentRef, request: SettingsRequest): Promise<ControlReply>;
  samples(from: AgentRef, message: BoundRequest<WatchSamples>): Promise<ControlReply>;
  attacks(from: AgentRef, message: BoundRequest<EdgeAttacks>): Promise<ControlReply>;
}

/** Used where attacks are not recorded; agents continue without. */
export const NO_DETECTION: DetectionService = {
  settings: unsupported,
  samples: unsupported,
  attacks: unsupported,
};

async function unsupported(): Promise<ControlReply> {
  const detail = 'This control plane does not take measurements of traffic.';
  return { kind: 'refused', code: 'unsupported', detail };
}

export function answerDetection(
  service: DetectionService,
  from: AgentRef,
  bound: BoundRequest<WatchRequest>,
): Promise<ControlReply> {
  const { kind } = bound.request;
  switch (kind) {
    case 'detection.getSettings':
      return service.settings(from, bound.request);
    case 'watch.samples':
      return service.samples(from, bound as BoundRequest<WatchSamples>);
    case 'edge.attacks':
    default:
      return service.attacks(from, bound as BoundRequest<EdgeAttacks>);
  }
}
