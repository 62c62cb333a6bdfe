import { Button } from '@mantine/core';
import type { GroupInput } from '@portcullis/client/index.ts';
import { ClipboardPaste, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Column } from '../../components/list/columns.ts';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { RoleIcon } from '../../components/RoleIcon.tsx';
import { groupEditorMessages } from '../../messages/group-editor.ts';
import { messages } from '../../messages/index.ts';
import { PasteForm } from '../addresses/rules/PasteForm.tsx';
import { describeRule, RULE_COLUMNS } from '../addresses/rules/rule-columns.tsx';
import { EMPTY_DRAFT } from '../addresses/rules/rule-draft.ts';
import { RuleForm, type RuleTarget } from '../addresses/rules/RuleForm.tsx';
import { MarksCell } from './MarksCell.tsx';

const text = groupEditorMessages.group;

type Rule = GroupInput['rules'][number];

interface Props {
  readonly rules: readonly Rule[];
  readonly isLocked: boolean;
  onChange(rules: readonly Rule[]): void;
  /** Whether a form is open, whose rules are in no group yet. */
  onTyping(isTyping: boolean): void;
}

type Row = Rule & { readonly index: number };

export function RulesSection({ rules, isLocked, onChange, onTyping }: Props) {
  const [adding, setAdding] = useState<'one' | 'many' | null>(null);
  const open = (form: 'one' | 'many' | null): void => {
    setAdding(form);
    onTyping(form !== null);
  };
  const close = (): void => open(null);
  const target: RuleTarget = {
    ip: null,
    async write(added) {
      onChange([...rules, ...added]);
      return null;
    },
  };
  const note: Column<Row> = {
    title: messages.notes.column,
    width: 'minmax(120px, 1fr)',
    cell: ({ index, ...rule }) => (
      <MarksCell
        name={describeRule(rule)}
        marks={rule}
        isLocked={isLocked}
        onChange={(marks) => onChange(rules.with(index, { ...rule, ...marks }))}
      />
    ),
  };
  const takeOut: Column<Row> = {
    title: messages.rules.actions,
    isTitleHidden: true,
    width: '32px',
    cell: (row) => (
      <RoleIcon
        label={text.takeOut(describeRule(row))}
        onClick={() => onChange(rules.toSpliced(row.index, 1))}
      >
        <Trash2 size={15} />
      </RoleIcon>
    ),
  };
  return (
    <ListPanel<Row>
      title={text.rules}
      isHeaded
      lead={rules.length === 0 ? text.noRules : text.rulesLead}
      actions={
        !isLocked && (
          <>
            <Button
              variant="default"
              leftSection={<ClipboardPaste size={15} aria-hidden="true" />}
              onClick={() => open(adding === 'many' ? null : 'many')}
            >
              {messages.paste.button}
            </Button>
            <Button
              variant="default"
              leftSection={<Plus size={15} aria-hidden="true" />}
              onClick={() => open('one')}
            >
              {text.addRule}
            </Button>
          </>
        )
      }
      above={
        <>
          {adding === 'one' && <RuleForm target={target} initial={EMPTY_DRAFT} onClose={close} />}
          {adding === 'many' && <PasteForm target={target} onClose={close} />}
        </>
      }
      rows={rules.map((rule, index) => ({ ...rule, index }))}
      columns={[...RULE_COLUMNS, note, ...(isLocked ? [] : [takeOut])]}
      minWidth={620}
      keyOf={({ index }) => index}
    />
  );
}
