import type { CallResult } from './result.ts';

/** Events of responder calls. */
export interface CallEvents {
  /** A responder call ended or will be repeated. */
  called(
    responder: string,
    event: 'start' | 'withdraw',
    result: CallResult,
    settled: boolean,
  ): void;
  failed(what: string, error: unknown): void;
}
