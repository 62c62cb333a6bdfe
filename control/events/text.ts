import { canonicalAddress } from '@portcullis/core/net/address.ts';
import type { Cursor, StoredEvent } from './store.ts';

/** https://html.spec.whatwg.org/multipage/server-sent-events.html; JSON has no line ends. */
export function formatEvent(event: StoredEvent): string {
  return `id: ${cursorText(event)}\nevent: ${event.kind}\ndata: ${JSON.stringify(eventView(event))}\n\n`;
}

function eventView({ id, at, kind, target, data }: StoredEvent) {
  return {
    id,
    at: at.toISOString().replace('Z', '+00:00'),
    kind,
    target: canonicalAddress(target) ?? target,
    data,
  };
}

export function cursorText({ transaction, id }: Cursor): string {
  return `${transaction}-${id}`;
}
