import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type {
  EdgeAttacks,
  SettingsRequest,
  WatchRequest,
  WatchSamples,
} from '@portcullis/link/messages/attacks.ts';

/**
 * Receives the measurements of edges and collectors. The transport authenticates the agent; the service checks that
 * it belongs to the fleet, and looks up its site.
 */
export interface DetectionService {
  settings(from: AgentRef, request: SettingsRequest): Promise<ControlReply>;
  samples(from: AgentRef, message: WatchSamples): Promise<ControlReply>;
  attacks(from: AgentRef, message: EdgeAttacks): Promise<ControlReply>;
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
  request: WatchRequest,
): Promise<ControlReply> {
  switch (request.kind) {
    case 'detection.getSettings':
      return service.settings(from, request);
    case 'watch.samples':
      return service.samples(from, request);
    case 'edge.attacks':
    default:
      return service.attacks(from, request);
  }
}
