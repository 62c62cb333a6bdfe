import type { Channel } from './db/listen.ts';

/** Parts that database notifications wake. */
export interface Woken {
  readonly access: { forget(): void };
  readonly events: { wake(): void };
  /** The queue of webhooks. */
  readonly deliveries: { wake(): void };
  readonly links: { notify(channel: Channel, payload: string | null): void };
  readonly mitigations: { wake(): void };
  /** The timers of the fleet: holdings that begin and end. */
  readonly timers: { wake(): void };
  readonly detection: { wake(): void };
  /** A backup was restored: nothing that this process remembers is true any more. */
  onRestored(): void;
}

type Wake = (woken: Woken, channel: Channel, payload: string | null) => void;

const tellAgents: Wake = ({ links }, channel, payload) => links.notify(channel, payload);

/**
 * Whom each channel concerns. A generation, which every write takes, concerns agents only: most writes change no
 * holding and no setting of detection.
 */
const WAKES: Readonly<Partial<Record<Channel, Wake>>> = {
  portcullis_generation: tellAgents,
  portcullis_nodes: tellAgents,
  portcullis_enrolment: tellAgents,
  portcullis_collectors: tellAgents,
  portcullis_access(woken, channel, payload) {
    woken.access.forget();
    tellAgents(woken, channel, payload);
  },
  portcullis_events: ({ events }) => events.wake(),
  portcullis_webhooks: ({ deliveries }) => deliveries.wake(),
  portcullis_restored({ onRestored }, _channel, payload) {
    if (payload !== null) onRestored();
  },
  portcullis_watch({ detection, mitigations }) {
    mitigations.wake();
    detection.wake();
  },
  portcullis_holdings({ detection, mitigations, timers }) {
    mitigations.wake();
    timers.wake();
    detection.wake();
  },
};

export const CHANNELS = Object.keys(WAKES) as readonly Channel[];

/** Passes on a notification. A null payload means that some may have been lost. */
export function wake(woken: Woken, channel: Channel, payload: string | null): void {
  WAKES[channel]?.(woken, channel, payload);
}
