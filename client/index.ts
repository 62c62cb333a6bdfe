export { createClient, type KeySettings, type SessionSettings } from './client.ts';
export * from './errors.ts';
export type { EventOptions, ReceivedEvent } from './event-stream.ts';
export type * from './generated/operations.ts';
export type {
  CallOptions,
  KeyClient,
  OperationId,
  Reply,
  ResponseInfo,
  SessionClient,
  WaitOptions,
  WaitUntilLiveOptions,
} from './types.ts';
