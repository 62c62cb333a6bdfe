import { Checkbox, Tooltip } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { AcceptedRule } from '@portcullis/client/index.ts';
import { Layers, SearchX, Trash2 } from 'lucide-react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { PropagationPill } from '../../../components/PropagationPill.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import type { Column } from '../../../components/columns.ts';
import { VirtualTable } from '../../../components/VirtualTable.tsx';
import { messages } from '../../../messages/index.ts';
import { NoteCell } from '../notes/NoteCell.tsx';
import type { Notes } from '../notes/queries.ts';
import { describeRule, RULE_COLUMNS } from './rule-columns.tsx';

const text = messages.rules;

interface Props {
  readonly rules: readonly AcceptedRule[];
  readonly notes: Notes;
  readonly knownTags: readonly string[];
  readonly selected: ReadonlySet<number>;
  /** The rule that decided about a packet; null: none. */
  readonly highlighted?: number | null;
  onSelected(selected: ReadonlySet<number>): void;
  onDelete(rule: AcceptedRule): void;
}

/** A rule of a group belongs to its group, and one that is going is deleted already. */
function isOwn({ managed_by_group, status }: AcceptedRule): boolean {
  return managed_by_group === null && status !== 'going';
}

export function RuleTable(props: Props) {
  const { rules, notes, knownTags, selected, onSelected, onDelete } = props;
  if (rules.length === 0) {
    return <EmptyState icon={SearchX} title={text.none.title} text={text.none.text} />;
  }
  const own = rules.filter(isOwn);
  const all = own.length > 0 && own.every(({ id }) => selected.has(id));
  const toggle = (id: number): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelected(next);
  };
  const columns: Column<AcceptedRule>[] = [
    {
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
    },
    ...RULE_COLUMNS,
    {
      title: messages.notes.column,
      width: 'minmax(150px, 2.6fr)',
      cell: (rule) => (
        <NoteCell
          rule={rule}
          note={rule.managed_by_group === null ? notes.get(rule.id) : undefined}
          known={knownTags}
        />
      ),
    },
    ...STATE,
    {
      title: text.actions,
      isTitleHidden: true,
      width: '32px',
      cell: (rule) =>
        isOwn(rule) ? (
          <RoleIcon
            needs="member"
            label={text.deleteOne(describeRule(rule))}
            onClick={() => onDelete(rule)}
          >
            <Trash2 size={15} />
          </RoleIcon>
        ) : null,
    },
  ];
  return (
    <VirtualTable
      label={text.title}
      columns={columns}
      rows={rules}
      minWidth={940}
      keyOf={(rule) => `${rule.id}:${rule.managed_by_group?.id ?? ''}`}
      marksOf={(rule) => ({ going: rule.status === 'going' })}
    />
  );
}

const STATE: readonly Column<AcceptedRule>[] = [
  {
    title: text.owner,
    width: 'minmax(120px, 1fr)',
    cell: ({ managed_by_group: group }) =>
      group !== null && (
        <Tooltip label={text.ownedHint}>
          <Link className="cell-link" to="/groups/$group" params={{ group: String(group.id) }}>
            <Layers size={13} aria-hidden="true" /> {group.name}
          </Link>
        </Tooltip>
      ),
  },
  {
    title: text.state,
    width: '110px',
    cell: ({ status }) => <PropagationPill status={status} />,
  },
];
