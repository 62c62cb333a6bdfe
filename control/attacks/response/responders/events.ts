import type { CallOutcome, CallResult } from './result.ts';

/** Events of responder calls. */
export interface CallEvents {
  /** An attempt to call a responder ended. */
  called(
    responder: string,
    event: 'start' | 'withdraw',
    result: CallResult,
    outcome: CallOutcome,
  ): void;
  failed(what: string, error: unknown): void;
}
