import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import {
  RESPONDER,
  type ResponderObject,
} from '@portcullis/contract/schemas/declared/responder.ts';
import type { ResponderSpec } from '../../db/schema.ts';
import { type Current, defineKind, type Refuse } from '../kind.ts';
import { kindTable } from '../table.ts';

/** A responder as it is stored: one document, of which each run has a copy. */
interface Stored {
  readonly name: string;
  readonly spec: ResponderSpec;
}

const table = kindTable<Stored>({
  table: 'responders',
  key: 'name',
  columns: { name: 'text', spec: 'jsonb' },
});

/** A command or webhook that is called for attacks. */
export const responder = defineKind<typeof RESPONDER, ResponderObject, object>(RESPONDER, {
  place: '/responders/*',
  key: ({ name }) => name,
  refersTo: [],
  complete: ({ webhook = null }) => ({ webhook: URL.parse(webhook ?? '')?.href ?? webhook }),
  check,
  checkByHand({ command }, refuse) {
    if (command === null) return;
    refuse(
      '/command',
      'A command runs on the host of control, so only the fleet file may name one.',
    );
  },
  load: async (db, keys) => (await table.load(db, keys)).map(fromStored),
  adopt: table.adopt,
  save: (batch, many) =>
    table.upsert(
      batch,
      many.map(({ object }) => toStored(object)),
    ),
  remove: ({ tx }, many) => table.delete(tx, many),
  summary: (object) => `calls ${describeCall(object)}`,
  /** A secret is shown as a short hash, which tells only whether it changed. */
  shown: ({ secret, prefixes, at, timeout_seconds, expires_seconds, ...call }) => ({
    calls: describeCall(call),
    secret: secret === null ? null : createHash('sha256').update(secret).digest('hex').slice(0, 8),
    prefixes: prefixes ?? 'all',
    ...at,
    timeout_seconds,
    expires_seconds,
  }),
  view: (object) => ({ ...object, secret: null }),
  /** A secret is not read, so a PUT of what was read would take it away. */
  losses: ({ before: { object }, after, byHand }) =>
    byHand && object.secret !== null && after?.webhook && after.secret === null
      ? [
          `The webhook of ${object.name} would be called without its secret, which is not shown: send it again, or change the other fields by a PATCH.`,
        ]
      : [],
});

/** The URL, or the words of the command: one that has spaces in it is quoted. */
function describeCall({ command, webhook }: Pick<ResponderObject, 'command' | 'webhook'>): string {
  const words = command?.map((word) => (/^[^\s"]+$/.test(word) ? word : JSON.stringify(word)));
  return words?.join(' ') ?? webhook ?? '';
}

function toStored({ name, command, webhook, secret, prefixes, at, ...times }: ResponderObject) {
  const call =
    command === null
      ? ({ kind: 'webhook', url: webhook ?? '', secret } as const)
      : ({ kind: 'command', command } as const);
  const { timeout_seconds: timeoutSeconds, expires_seconds: expiresSeconds } = times;
  return { name, spec: { call, prefixes, ...at, timeoutSeconds, expiresSeconds } };
}

function fromStored({ object: { name, spec }, ...row }: Current<Stored>): Current<ResponderObject> {
  const { call, prefixes, pps, mbps, timeoutSeconds, expiresSeconds } = spec;
  const object = {
    name,
    command: call.kind === 'command' ? call.command : null,
    webhook: call.kind === 'webhook' ? call.url : null,
    secret: call.kind === 'webhook' ? call.secret : null,
    prefixes,
    at: { pps, mbps },
    timeout_seconds: timeoutSeconds,
    expires_seconds: expiresSeconds,
  };
  return { ...row, object };
}

function check({ command, webhook, secret }: ResponderObject, refuse: Refuse): void {
  if ((command === null) === (webhook === null)) {
    refuse('', 'A responder has a command or a webhook: one of them.');
    return;
  }
  if (command !== null) {
    if (!isAbsolute(command[0] ?? '')) {
      const detail = 'Write the absolute path of the program, such as /usr/local/sbin/blackhole.';
      refuse('/command/0', detail);
    }
    if (secret !== null) refuse('/secret', 'Only a webhook is sent a secret.');
    return;
  }
  const url = URL.parse(webhook ?? '');
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    refuse('/webhook', 'This is no http or https URL.');
  } else if (url.username !== '' || url.password !== '') {
    refuse('/webhook', 'Leave name and password out of the URL, and use `secret`.');
  }
  if (secret !== null && !/^[\x21-\x7e]+$/.test(secret)) {
    refuse('/secret', 'A secret is sent in a header: printable ASCII without spaces.');
  }
}
