import { isAbsolute } from 'node:path';
import type { ResponderSpec } from '../../db/schema.ts';
import type { DesiredResponder } from '../desired.ts';
import type { Scope } from './scope.ts';
import type { FleetText } from '../schema/schema.ts';

type ResponderText = NonNullable<FleetText['responders']>[number];

const TIMEOUT_SECONDS = 10;
const EXPIRES_SECONDS = 3_600;

export function parseResponders(
  entries: readonly ResponderText[],
  scope: Scope,
): DesiredResponder[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The responder');
  return entries.flatMap((entry, index) => {
    const itemScope = scope.in(index);
    const call = parseCall(entry, itemScope);
    if (call === null) return [];
    const spec: ResponderSpec = {
      call,
      prefixes:
        entry.prefixes === undefined
          ? null
          : itemScope.in('prefixes').cidrs(entry.prefixes).toSorted(),
      pps: entry.at?.pps ?? null,
      mbps: entry.at?.mbps ?? null,
      timeoutSeconds: entry.timeout_seconds ?? TIMEOUT_SECONDS,
      expiresSeconds: entry.expires_seconds ?? EXPIRES_SECONDS,
    };
    return [{ at: itemScope.at, name: entry.name, spec }];
  });
}

function parseCall(
  { command, webhook, secret }: ResponderText,
  itemScope: Scope,
): ResponderSpec['call'] | null {
  if ((command === undefined) === (webhook === undefined)) {
    itemScope.refuse('A responder has a command or a webhook: one of them.');
    return null;
  }
  if (command !== undefined) {
    if (!isAbsolute(command[0] ?? '')) {
      itemScope
        .in('command', 0)
        .refuse('Write the absolute path of the program, such as /usr/local/sbin/blackhole.');
    }
    if (secret !== undefined) itemScope.in('secret').refuse('Only a webhook is sent a secret.');
    return { kind: 'command', command };
  }
  const url = URL.parse(webhook ?? '');
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    itemScope.in('webhook').refuse('This is no http or https URL.');
  } else if (url.username !== '' || url.password !== '') {
    itemScope.in('webhook').refuse('Leave name and password out of the URL, and use `secret`.');
  }
  if (secret !== undefined && !/^[\x21-\x7e]+$/.test(secret)) {
    itemScope.in('secret').refuse('A secret is sent in a header: printable ASCII without spaces.');
  }
  return { kind: 'webhook', url: url?.href ?? '', secret: secret ?? null };
}
