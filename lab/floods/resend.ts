import { CAMPAIGNS, campaign, knownWithinMs, type Target } from './campaign.ts';
import type { FloodReport } from './schedule.ts';
import type { Witness } from './witness.ts';

/** The traffic that was sent at last. */
export interface Sent {
  readonly target: Target;
  readonly report: FloodReport;
}

export interface Sending {
  /** Sends to these and waits until whatever is to be said of them is said. */
  readonly send: (targets: readonly Target[]) => Promise<ReadonlyMap<string, FloodReport>>;
  readonly witness: Witness;
  readonly holdMs: number;
  /** How long something is due after a flood is known. */
  readonly thenMs: number;
}

/** A sender that was kept waiting for longer sent no steady flood. */
const STEADY_PAUSE_MS = 60;
/** The share of what was to be sent. */
const WHOLE_SHARE = 0.97;

/**
 * Sends the campaign. What the machine kept the sender from sending, or a process of ours from seeing in time, is sent
 * again to addresses of its own: promises of time are not of a machine that lets nobody run. At the end, what was sent
 * last counts, held up or not. `again`: in words, empty where nothing was sent twice.
 */
export async function sendCampaign(
  sending: Sending,
): Promise<{ readonly sent: readonly Sent[]; readonly again: readonly string[] }> {
  const sent: Sent[] = [];
  const again: string[] = [];
  let names: ReadonlySet<string> = new Set(campaign().map(({ name }) => name));
  for (let attempt = 1; names.size > 0; attempt++) {
    const targets = campaign(attempt - 1).filter(({ name }) => names.has(name));
    const reports = await sending.send(targets);
    const latest = targets.map((target): Sent => {
      const report = reports.get(target.name);
      if (report === undefined) throw new Error(`${target.name}: nobody says what was sent`);
      return { target, report };
    });
    const heldUp = attempt === CAMPAIGNS ? [] : latest.filter((one) => wasHeldUp(one, sending));
    sent.push(...latest.filter((one) => !heldUp.includes(one)));
    names = new Set(heldUp.map(({ target }) => target.name));
    if (names.size > 0) again.push(`${names.size} after attempt ${attempt}`);
  }
  return { sent, again };
}

function wasHeldUp({ target, report }: Sent, { witness, holdMs, thenMs }: Sending): boolean {
  const { beganAtMs, endedAtMs, longestPauseMs, packets, plannedPackets } = report;
  const knownMs = beganAtMs + knownWithinMs(target.factor) + thenMs;
  return (
    longestPauseMs > STEADY_PAUSE_MS ||
    packets < plannedPackets * WHOLE_SHARE ||
    witness.stalledMs(beganAtMs, knownMs) > 0 ||
    witness.stalledMs(endedAtMs, endedAtMs + holdMs) > 0
  );
}
