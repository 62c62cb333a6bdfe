import { Checkbox, Tooltip } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { AcceptedRule } from '@portcullis/client/index.ts';
import { ClipboardPaste, Layers, Plus, ShieldQuestion, Trash2 } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { PropagationPill } from '../../../components/PropagationPill.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { messages } from '../../../messages/index.ts';
import { NoteCell } from '../notes/NoteCell.tsx';
import { type Notes, useNotes } from '../notes/queries.ts';
import type { AcceptedView } from '../queries.ts';
import { PasteForm } from './PasteForm.tsx';
import { describeRule, RULE_COLUMNS } from './rule-columns.tsx';
import { EMPTY_DRAFT, type RuleDraft } from './rule-draft.ts';
import { RuleForm } from './RuleForm.tsx';
import { useRuleWrites } from './rule-writes.ts';

const text = messages.rules;

interface Props {
  readonly ip: string;
  readonly view: AcceptedView;
  /** The rule being added; null while none is. */
  readonly draft: RuleDraft | null;
  onDraft(draft: RuleDraft | null): void;
}

export function RulesPanel({ ip, view, draft, onDraft }: Props) {
  const [isPasting, setPasting] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const writes = useRuleWrites(ip);
  const remove = useWrite(writes.remove, { say: (message) => message });
  const target = { ip, write: writes.add };
  const { rules } = view.data;
  const { notes, knownTags } = useNotes(ip);
  const chosen = rules.filter(({ id, status }) => selected.has(id) && status !== 'going');
  const search = useMemo(() => ({ label: text.search, fieldsOf: fieldsOf(notes) }), [notes]);
  useAddKey(() => onDraft(EMPTY_DRAFT));
  return (
    <ListPanel
      title={text.title}
      search={search}
      filter={
        <span className="dim">{text.count(rules.length, view.meta.limits.rules_per_ip)}</span>
      }
      actions={
        <>
          {chosen.length > 0 && (
            <RoleButton
              needs="member"
              variant="light"
              color="red"
              loading={remove.isPending}
              leftSection={<Trash2 size={15} aria-hidden="true" />}
              onClick={() => {
                remove.mutate(chosen);
                setSelected(new Set());
              }}
            >
              {text.deleteChosen(chosen.length)}
            </RoleButton>
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
        </>
      }
      above={
        <>
          {draft !== null && (
            <RuleForm
              key={JSON.stringify(draft)}
              target={target}
              initial={draft}
              knownTags={knownTags}
              onClose={() => onDraft(null)}
            />
          )}
          {isPasting && <PasteForm target={target} onClose={() => setPasting(false)} />}
        </>
      }
      error={remove.error}
      rows={rules}
      columns={[
        selectColumn(rules.filter(isOwn), selected, setSelected),
        ...RULE_COLUMNS,
        noteColumn(notes, knownTags ?? []),
        OWNER,
        stateColumn(view),
        deleteColumn((rule) => remove.mutate([rule])),
      ]}
      minWidth={940}
      keyOf={(rule) => `${rule.id}:${rule.managed_by_group?.id ?? ''}`}
      marksOf={(rule) => ({ going: rule.status === 'going' })}
      empty={{
        icon: ShieldQuestion,
        title: text.empty.title,
        text: text.empty.text[view.data.default],
      }}
      none={text.none}
    />
  );
}

/** A rule of a group belongs to its group, and one that is going is deleted already. */
function isOwn({ managed_by_group, status }: AcceptedRule): boolean {
  return managed_by_group === null && status !== 'going';
}

/** The parts by which a rule is found: its action, protocol, port, source, group, ref, note and tags. */
function fieldsOf(notes: Notes): (rule: AcceptedRule) => readonly string[] {
  return ({ id, managed_by_group: group, ...rule }) => {
    const note = group === null ? notes.get(id) : undefined;
    return [
      rule.action,
      rule.protocol,
      String(rule.destination_port ?? 'any'),
      rule.named_port ?? '',
      rule.source_ip ?? 'any',
      group?.name ?? '',
      rule.ref ?? '',
      note?.note ?? '',
      ...(note?.tags ?? []),
    ];
  };
}

function selectColumn(
  own: readonly AcceptedRule[],
  selected: ReadonlySet<number>,
  onSelected: (selected: ReadonlySet<number>) => void,
): Column<AcceptedRule> {
  const all = own.length > 0 && own.every(({ id }) => selected.has(id));
  const toggle = (id: number): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelected(next);
  };
  return {
    title: text.selectAll,
    head: (
      <Checkbox
        size="xs"
        aria-label={text.selectAll}
        checked={all}
        indeterminate={!all && selected.size > 0}
        onChange={() => onSelected(new Set(all ? [] : own.map(({ id }) => id)))}
      />
    ),
    width: '22px',
    cell: (rule) =>
      isOwn(rule) && (
        <Checkbox
          size="xs"
          aria-label={text.select(describeRule(rule))}
          checked={selected.has(rule.id)}
          onChange={() => toggle(rule.id)}
        />
      ),
  };
}

function noteColumn(notes: Notes, known: readonly string[]): Column<AcceptedRule> {
  return {
    title: messages.notes.column,
    width: 'minmax(150px, 2.6fr)',
    cell: (rule) => (
      <NoteCell
        rule={rule}
        note={rule.managed_by_group === null ? notes.get(rule.id) : undefined}
        known={known}
      />
    ),
  };
}

const OWNER: Column<AcceptedRule> = {
  title: text.owner,
  width: 'minmax(140px, 1.6fr)',
  cell: ({ managed_by_group: group }) =>
    group !== null && (
      <Tooltip label={text.ownedHint}>
        <Link className="cell-link" to="/groups/$group" params={{ group: String(group.id) }}>
          <Layers size={13} aria-hidden="true" /> {group.name}
        </Link>
      </Tooltip>
    ),
};

function stateColumn({ meta }: AcceptedView): Column<AcceptedRule> {
  return {
    title: text.state,
    width: '110px',
    card: 'end',
    cell: ({ status }) => (
      <PropagationPill status={status} isEnforced={meta.live_generation !== null} />
    ),
  };
}

function deleteColumn(onDelete: (rule: AcceptedRule) => void): Column<AcceptedRule> {
  return {
    title: text.actions,
    isTitleHidden: true,
    width: '32px',
    cell: (rule) =>
      isOwn(rule) && (
        <RoleIcon
          needs="member"
          label={text.deleteOne(describeRule(rule))}
          onClick={() => onDelete(rule)}
        >
          <Trash2 size={15} />
        </RoleIcon>
      ),
  };
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
