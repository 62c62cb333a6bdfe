import type { AcceptedRule } from '@portcullis/client/index.ts';
import type { Notes } from '../notes/queries.ts';

/** Every word must be in a rule: its action, protocol, port, source, group, note or tags. */
export function searchRules(
  rules: readonly AcceptedRule[],
  notes: Notes,
  search: string,
): readonly AcceptedRule[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rules;
  return rules.filter(({ id, managed_by_group: group, ...rule }) => {
    const note = group === null ? notes.get(id) : undefined;
    const text = [
      rule.action,
      rule.protocol,
      rule.destination_port ?? 'any',
      rule.named_port,
      rule.source_ip ?? 'any',
      group?.name,
      note?.note,
      ...(note?.tags ?? []),
    ]
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
