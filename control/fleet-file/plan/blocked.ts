import { countOf } from '@portcullis/core/count.ts';
import type { CurrentBlocked } from '../state/state.ts';
import type { PlanDraft } from './draft.ts';
import { findHolding } from './firewall.ts';
import { showCidr } from '../../operator/index.ts';
import type { HoldingIndex } from './holdings.ts';

/** The most sources that one line of a plan names. */
const NAMED = 10;

/** Plans the sources that organisations block, one change for each target and note. */
export function planBlocked(draft: PlanDraft, holdings: HoldingIndex): void {
  const left = new Map(draft.state.blocked.map((row) => [rowKey(row), row]));
  for (const { slug: organisation, blocked } of draft.organisations) {
    const organisationId = draft.idOf(organisation);
    for (const { at, target, sources, note } of blocked) {
      const subject = subjectOf(organisation, target);
      const holding =
        target === null
          ? null
          : findHolding(draft, holdings, { at, target, organisation, subject });
      if (holding === undefined) continue;
      const isNew = holding?.kind === 'new' || organisationId === undefined;
      const holdingId = holding?.kind === 'existing' ? holding.id : null;
      const changed = sources.filter((source) => {
        if (isNew) return true;
        const key = rowKey({ organisationId, holdingId, target, source });
        const row = left.get(key);
        left.delete(key);
        // One that was blocked by hand stays so, with its note.
        return row === undefined || (row.owner === 'fleet' && row.note !== note);
      });
      if (changed.length === 0) continue;
      const change = { holding, target, sources: changed, note, subject };
      draft.add(
        { do: 'blocked.add', sign: '+', words: wordsOf(changed), organisation, ...change },
        at,
      );
    }
  }
  const ended = [...left.values()].filter(({ owner }) => owner === 'fleet');
  const lists = Map.groupBy(ended, ({ organisationId, target, holdingId }) =>
    [organisationId, target, holdingId].join(' '),
  );
  for (const [first, ...others] of lists.values()) {
    if (first === undefined) continue;
    const { target, holdingId } = first;
    const organisation = draft.slugOf(first.organisationId);
    const sources = [first, ...others].map(({ source }) => source);
    const holding = holdingId === null ? null : ({ kind: 'existing', id: holdingId } as const);
    const change = { holding, target, sources, note: '', subject: subjectOf(organisation, target) };
    draft.add({
      do: 'blocked.remove',
      sign: '-',
      words: wordsOf(sources),
      organisation,
      ...change,
    });
  }
}

function rowKey(row: Pick<CurrentBlocked, 'organisationId' | 'holdingId' | 'target' | 'source'>) {
  return [row.organisationId, row.holdingId, row.target, row.source].join(' ');
}

function subjectOf(organisation: string, target: string | null): string {
  const where = target === null ? 'everything' : showCidr(target);
  return `blocked sources on ${where} (${organisation})`;
}

function wordsOf(sources: readonly string[]): string {
  const named = sources.slice(0, NAMED).map(showCidr).join(', ');
  return sources.length > NAMED
    ? `${countOf(sources.length, 'network')}: ${named}, and more`
    : named;
}
