import type { AcceptedRule } from '@portcullis/client/index.ts';
import { ClipboardPaste, Plus, ShieldQuestion, Trash2 } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { SearchField } from '../../../components/SearchField.tsx';
import { messages } from '../../../messages/index.ts';
import { useNotes } from '../notes/queries.ts';
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
  const { notes, knownTags } = useNotes(ip);
  const shown = useMemo(() => searchRules(rules, notes, search), [rules, notes, search]);
  const chosen = rules.filter(({ id, status }) => selected.has(id) && status !== 'going');
  useAddKey(() => onDraft(EMPTY_DRAFT));
  return (
    <section className="card grid">
      <div className="tools card-pad">
        <SearchField label={text.search} value={search} onChange={setSearch} />
        <span className="dim">{text.count(rules.length, view.meta.limits.rules_per_ip)}</span>
        <div className="row-end">
          <DeleteChosen
            chosen={chosen}
            isPending={writes.remove.isPending}
            onDelete={() => {
              writes.remove.mutate(chosen);
              setSelected(new Set());
            }}
          />
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
            knownTags={knownTags}
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
              writes.paste.mutate(pasted, { onSuccess: () => setPasting(false) })
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
          notes={notes}
          knownTags={knownTags ?? []}
          selected={selected}
          onSelected={setSelected}
          onDelete={(rule) => writes.remove.mutate([rule])}
        />
      )}
    </section>
  );
}

interface DeleteProps {
  readonly chosen: readonly AcceptedRule[];
  readonly isPending: boolean;
  onDelete(): void;
}

function DeleteChosen({ chosen, isPending, onDelete }: DeleteProps) {
  if (chosen.length === 0) return null;
  return (
    <RoleButton
      needs="member"
      variant="light"
      color="red"
      loading={isPending}
      leftSection={<Trash2 size={15} aria-hidden="true" />}
      onClick={onDelete}
    >
      {text.deleteChosen(chosen.length)}
    </RoleButton>
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
