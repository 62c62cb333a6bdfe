import type { ResponderSpec } from '../../../db/schema.ts';
import { callWebhook } from './webhook.ts';
import { runCommand } from './command.ts';
import { type CallResult, OUTPUT_BYTES } from './result.ts';

/** The JSON payload for a responder. */
export interface CallBody {
  /** Equal for all attempts, so that a responder can detect repetitions. */
  readonly call: number;
  readonly event: 'start' | 'withdraw';
  /** Equal for the start and its withdrawal. */
  readonly run: number;
  readonly attack: {
    readonly id: number;
    readonly target: string;
    readonly type: string;
    readonly peak_pps: number;
    readonly peak_bps: number;
    readonly started_at: string;
  };
  /** The latest time of the withdrawal. */
  readonly expires_at: string;
}

/** Makes one call within its timeout. Never rejects. */
export async function makeCall(
  { call, timeoutSeconds }: ResponderSpec,
  body: CallBody,
  stop: AbortSignal,
): Promise<CallResult> {
  const text = `${JSON.stringify(body)}\n`;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutSeconds * 1000)]);
  try {
    return call.kind === 'command'
      ? await runCommand(call.command, text, signal)
      : await callWebhook(call, text, signal);
  } catch (error) {
    const why =
      signal.aborted && !stop.aborted ? `no answer within ${timeoutSeconds} s` : wordOf(error);
    return { succeeded: false, output: why.slice(0, OUTPUT_BYTES) };
  }
}

function wordOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
