import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { check, type Schema } from '../messages/schema.ts';
import { decode } from './connection.ts';

export interface Listener<T> {
  readonly subject: string;
  /** Members of a queue share its messages. */
  readonly queue?: string;
  /** Whether a message on a subject is dropped before anything is done with it. */
  readonly isTooMany?: (subject: string) => boolean;
  /** A larger message is dropped before it is parsed. */
  readonly maxBytes?: (subject: string) => number;
  /** A message that it does not accept is dropped, whoever sent it. */
  readonly schema: Schema<T>;
  readonly take: (envelope: T, message: Msg) => void | Promise<void>;
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * The only way in which this project subscribes (lab/structure/wire.test.ts). When a callback throws, the library stops
 * reading from the server until its pings fail, for all subjects: so a message is checked before it is used, and no
 * error, not even a rejection, leaves this function.
 */
export function listen<T>(connection: NatsConnection, listener: Listener<T>): Subscription {
  const { subject, queue, isTooMany } = listener;
  return connection.subscribe(subject, {
    ...(queue !== undefined && { queue }),
    callback: (error, message) => {
      if (error !== null || isTooMany?.(message.subject) === true) return;
      void deliver(listener, message);
    },
  });
}

/** Starts `take` in the same turn, so that messages are taken in their order. */
async function deliver<T>(
  { schema, take, onError, maxBytes }: Listener<T>,
  message: Msg,
): Promise<void> {
  try {
    if (maxBytes !== undefined && message.data.length > maxBytes(message.subject)) return;
    const envelope = check(schema, decode(message.data));
    if (envelope.ok) await take(envelope.value, message);
  } catch (error) {
    try {
      onError?.(error);
    } catch {
      // Nothing is left that could report it.
    }
  }
}
