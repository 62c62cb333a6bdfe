import { createHash } from 'node:crypto';
import type { ResponderSpec } from '../../db/schema-mitigations.ts';
import type { FleetFile } from '../desired.ts';
import { type PlanDraft, wordDifferences } from './draft.ts';
import type { FleetState } from '../state/state.ts';

export function planResponders(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const current = new Map(state.responders.map((row) => [row.name, row]));
  for (const responder of file.responders) {
    const { name, spec, at } = responder;
    const row = current.get(name);
    current.delete(name);
    const told = { responder, subject: `responder ${name}`, organisation: null };
    if (row?.owner === 'portal') {
      draft.refuse(at, `The responder ${name} belongs to the portal; change it there.`);
    } else if (row === undefined) {
      const { calls } = fieldsOf(spec);
      draft.add({ do: 'responder.save', sign: '+', words: `calls ${calls}`, ...told }, at);
    } else {
      const words = wordDifferences(fieldsOf(row.spec), fieldsOf(spec));
      if (words !== '') draft.add({ do: 'responder.save', sign: '~', words, ...told }, at);
    }
  }
  for (const { id, name, owner } of current.values()) {
    if (owner === 'portal') continue;
    const told = { subject: `responder ${name}`, words: '', organisation: null };
    draft.add({ do: 'responder.delete', sign: '-', id, ...told });
  }
}

/** Without the secret: only whether it is another one. */
function fieldsOf({ call, prefixes, pps, mbps, timeoutSeconds, expiresSeconds }: ResponderSpec) {
  const secret = call.kind === 'webhook' ? call.secret : null;
  return {
    calls: call.kind === 'command' ? call.command.join(' ') : call.url,
    secret: secret === null ? null : createHash('sha256').update(secret).digest('hex').slice(0, 8),
    prefixes: prefixes ?? 'all',
    pps,
    mbps,
    timeout_seconds: timeoutSeconds,
    expires_seconds: expiresSeconds,
  };
}
