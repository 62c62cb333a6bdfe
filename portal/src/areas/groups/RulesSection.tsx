import { ActionIcon } from '@mantine/core';
import type { RuleInput } from '@portcullis/client/index.ts';
import { ClipboardPaste, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@mantine/core';
import type { Column } from '../../components/columns.ts';
import { VirtualTable } from '../../components/VirtualTable.tsx';
import { messages } from '../../messages/index.ts';
import { PasteForm } from '../addresses/rules/PasteForm.tsx';
import { describeRule, RULE_COLUMNS } from '../addresses/rules/rule-columns.tsx';
import { EMPTY_DRAFT } from '../addresses/rules/rule-draft.ts';
import { RuleForm } from '../addresses/rules/RuleForm.tsx';

const text = messages.group;

interface Props {
  readonly rules: readonly RuleInput[];
  readonly isLocked: boolean;
  onChange(rules: readonly RuleInput[]): void;
}

interface Row extends RuleInput {
  readonly index: number;
}

export function RulesSection({ rules, isLocked, onChange }: Props) {
  const [adding, setAdding] = useState<'one' | 'many' | null>(null);
  const add = (added: readonly RuleInput[]): void => {
    onChange([...rules, ...added]);
    setAdding(null);
  };
  const columns: Column<Row>[] = [...RULE_COLUMNS];
  if (!isLocked) {
    columns.push({
      title: messages.rules.actions,
      isTitleHidden: true,
      width: '32px',
      cell: (row) => (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={text.takeOut(describeRule(row))}
          onClick={() => onChange(rules.toSpliced(row.index, 1))}
        >
          <Trash2 size={15} />
        </ActionIcon>
      ),
    });
  }
  return (
    <section className="card grid" aria-label={text.rules}>
      <div className="tools card-pad">
        <div className="tools-title">
          <h2>{text.rules}</h2>
          <span className="dim">{rules.length === 0 ? text.noRules : text.rulesLead}</span>
        </div>
        {!isLocked && (
          <div className="row-end">
            <Button
              variant="default"
              leftSection={<ClipboardPaste size={15} aria-hidden="true" />}
              onClick={() => setAdding(adding === 'many' ? null : 'many')}
            >
              {messages.paste.button}
            </Button>
            <Button
              variant="default"
              leftSection={<Plus size={15} aria-hidden="true" />}
              onClick={() => setAdding('one')}
            >
              {text.addRule}
            </Button>
          </div>
        )}
      </div>
      {adding === 'one' && (
        <div className="panel">
          <RuleForm
            ip={null}
            initial={EMPTY_DRAFT}
            create={{ error: null, isPending: false, mutate: (rule) => add([rule]) }}
            onClose={() => setAdding(null)}
          />
        </div>
      )}
      {adding === 'many' && (
        <div className="panel">
          <PasteForm
            ip={null}
            error={null}
            isPending={false}
            onSubmit={add}
            onClose={() => setAdding(null)}
          />
        </div>
      )}
      {rules.length > 0 && (
        <VirtualTable
          label={text.rules}
          columns={columns}
          rows={rules.map((rule, index) => ({ ...rule, index }))}
          minWidth={480}
          keyOf={({ index }) => index}
        />
      )}
    </section>
  );
}
