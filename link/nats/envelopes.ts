import { WATCH_REQUESTS } from '../messages/attacks.ts';
import { agentRef } from '../messages/messages.ts';
import {
  integer,
  natural,
  nullable,
  object,
  optional,
  prose,
  record,
  type Schema,
  text,
} from '../messages/schema.ts';
import { MAX_CREDENTIAL_LENGTH } from '../transport/transport.ts';

/** The envelope that is around a message on each subject: see subjects.ts. */

/** Names a process of an agent, or a replica; chosen by itself. */
const id = text(64);
/** Checked by its reader, which answers what it does not understand. */
const anything: Schema<unknown> = (value) => value;

export const GREETING = object<{ connection: string; credential?: string | null }>({
  connection: id,
  credential: optional(nullable(text(MAX_CREDENTIAL_LENGTH))),
});
export const REQUEST = object<{ connection: string; request?: unknown }>({
  connection: id,
  request: anything,
});

export const CALL = object<{ request?: unknown; connection?: string }>({
  request: anything,
  connection: optional(id),
});
export const NOTICE = object<{ notice?: unknown }>({ notice: anything });
export const SESSION = object<{ newest?: string; ended?: string; refused?: string }>({
  newest: optional(id),
  ended: optional(id),
  refused: optional(prose(2_000)),
});

const usage = record(
  /^[\x21-\x7e]{1,128}$/,
  object({ requests: natural, limit: integer(1, 1_000_000_000) }),
);
/** Usage of a replica to the other ones. */
export const USAGE = object({ replica: id, usage });
/** Samples of a replica to the one that runs the detector. The agent's message is checked again. */
export const SAMPLES = object({
  from: agentRef,
  site: prose(255),
  message: WATCH_REQUESTS['watch.samples'],
});
