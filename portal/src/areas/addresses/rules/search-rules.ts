import type { AcceptedRule } from '@portcullis/client/index.ts';

/** Every word must be in a rule: its action, protocol, port, source or group. */
export function searchRules(
  rules: readonly AcceptedRule[],
  search: string,
): readonly AcceptedRule[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rules;
  return rules.filter(({ action, protocol, destination_port, source_ip, managed_by_group }) => {
    const fields = [action, protocol, destination_port ?? 'any', source_ip ?? 'any'];
    const text = [...fields, managed_by_group?.name ?? ''].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
