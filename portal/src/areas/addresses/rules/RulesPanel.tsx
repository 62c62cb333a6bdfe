import { Button } from '@mantine/core';
import { ClipboardPaste, Plus, ShieldQuestion, Trash2 } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { SearchField } from '../../../components/SearchField.tsx';
import { messages } from '../../../messages/index.ts';
import type { AcceptedView } from '../queries.ts';
import { PasteForm } from './PasteForm.tsx';
import { EMPTY_DRAFT, type RuleDraft } from './rule-draft.ts';
import { RuleForm } from './RuleForm.tsx';
import { RuleTable } from './RuleTable.tsx';
import { searchRules } from './search-rules.ts';
import { useRuleWrites } from './use-rule-writes.ts';

const text = messages.rules;

interface Props {
  readonly ip: string;
  readonly view: AcceptedView;
  /** The rule being added; null while none is. */
  readonly draft: RuleDraft | null;
  onDraft(draft: RuleDraft | null): void;
}

export function RulesPanel({ ip, view, draft, onDraft }: Props) {
  const [search, setSearch] = useState('');
  const [isPasting, setPasting] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const writes = useRuleWrites(ip);
  const { rules } = view.data;
  const shown = useMemo(() => searchRules(rules, search), [rules, search]);
  const chosen = rules.filter(({ id, status }) => selected.has(id) && status !== 'going');
  useAddKey(() => onDraft(EMPTY_DRAFT));
  return (
    <section className="card grid">
      <div className="tools card-pad">
        <SearchField label={text.search} value={search} onChange={setSearch} />
        <span className="dim">{text.count(rules.length, view.meta.limits.rules_per_ip)}</span>
        <div className="row-end">
          {chosen.length > 0 && (
            <Button
              variant="light"
              color="red"
              loading={writes.remove.isPending}
              leftSection={<Trash2 size={15} aria-hidden="true" />}
              onClick={() => {
                writes.remove.mutate(chosen);
                setSelected(new Set());
              }}
            >
              {text.deleteChosen(chosen.length)}
            </Button>
          )}
          <RoleButton
            needs="member"
            variant="default"
            leftSection={<ClipboardPaste size={15} aria-hidden="true" />}
            onClick={() => setPasting(!isPasting)}
          >
            {messages.paste.button}
          </RoleButton>
          <RoleButton
            needs="member"
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => onDraft(EMPTY_DRAFT)}
          >
            {text.add}
          </RoleButton>
        </div>
      </div>
      {draft !== null && (
        <div className="panel">
          <RuleForm
            key={JSON.stringify(draft)}
            ip={ip}
            initial={draft}
            create={writes.create}
            onClose={() => onDraft(null)}
          />
        </div>
      )}
      {isPasting && (
        <div className="panel">
          <PasteForm
            ip={ip}
            error={writes.paste.error}
            isPending={writes.paste.isPending}
            onSubmit={(pasted) =>
              writes.paste.mutate({ view, rules: pasted }, { onSuccess: () => setPasting(false) })
            }
            onClose={() => setPasting(false)}
          />
        </div>
      )}
      {writes.remove.error !== null && <Notice kind="bad">{writes.remove.error.message}</Notice>}
      {rules.length === 0 ? (
        <EmptyState
          icon={ShieldQuestion}
          title={text.empty.title}
          text={text.empty.text[view.data.default]}
        />
      ) : (
        <RuleTable
          rules={shown}
          selected={selected}
          onSelected={setSelected}
          onDelete={(rule) => writes.remove.mutate([rule])}
        />
      )}
    </section>
  );
}

/** The key `n` begins a new rule. */
function useAddKey(add: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target } = event;
      const isElsewhere =
        target instanceof HTMLElement &&
        target.closest('input, textarea, [role="dialog"]') !== null;
      if (event.key !== 'n' || event.ctrlKey || event.metaKey || event.altKey || isElsewhere)
        return;
      event.preventDefault();
      add();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
}
