import { Button } from '@mantine/core';
import type { GroupInput } from '@portcullis/client/index.ts';
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Column } from '../../components/list/columns.ts';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { RoleIcon } from '../../components/RoleIcon.tsx';
import { WriteForm } from '../../components/forms/WriteForm.tsx';
import { groupEditorMessages } from '../../messages/group-editor.ts';
import { messages } from '../../messages/index.ts';
import {
  EMPTY_FILTER,
  FilterFields,
  filterOf,
  isIncomplete,
  useFilters,
} from '../addresses/FilterFields.tsx';
import { MarksCell } from './MarksCell.tsx';

const text = groupEditorMessages.group;

type Filter = GroupInput['filters'][number];

interface Props {
  readonly filters: readonly Filter[];
  readonly isLocked: boolean;
  onChange(filters: readonly Filter[]): void;
  /** Whether a form is open, whose filter is in no group yet. */
  onTyping(isTyping: boolean): void;
}

export function FiltersSection({ filters, isLocked, onChange, onTyping }: Props) {
  const types = useFilters();
  const [isAdding, setAdding] = useState(false);
  const open = (isOpen: boolean): void => {
    setAdding(isOpen);
    onTyping(isOpen);
  };
  const nameOf = (type: string): string => types.find((each) => each.type === type)?.name ?? type;
  const columns: readonly Column<Filter>[] = [
    { title: messages.filters.filter, cell: ({ type }) => nameOf(type) },
    { title: messages.filters.ports, className: 'mono', cell: ({ port }) => port },
    {
      title: messages.notes.column,
      cell: (filter) => (
        <MarksCell
          name={`${nameOf(filter.type)} ${filter.port}`}
          marks={filter}
          isLocked={isLocked}
          onChange={(marks) =>
            onChange(filters.map((each) => (each === filter ? { ...filter, ...marks } : each)))
          }
        />
      ),
    },
    {
      title: messages.filters.actions,
      isTitleHidden: true,
      isNumber: true,
      cell: (filter) =>
        !isLocked && (
          <RoleIcon
            label={text.takeOut(`${nameOf(filter.type)} ${filter.port}`)}
            onClick={() => onChange(filters.filter((each) => each !== filter))}
          >
            <Trash2 size={15} />
          </RoleIcon>
        ),
    },
  ];
  return (
    <ListPanel
      title={text.filters}
      isHeaded
      lead={filters.length === 0 ? text.noFilters : text.filtersLead}
      actions={
        !isLocked && (
          <Button
            variant="default"
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => open(true)}
          >
            {text.addFilter}
          </Button>
        )
      }
      above={
        isAdding && (
          <WriteForm
            label={text.addFilter}
            layout="panel"
            initial={EMPTY_FILTER}
            refusal={isIncomplete}
            isLocal
            write={async (draft) => onChange([...filters, filterOf(draft)])}
            onDone={() => open(false)}
            onCancel={() => open(false)}
            submit={text.addFilter}
          >
            {(form) => (
              <div className="form-row">
                <FilterFields form={form} available={null} />
              </div>
            )}
          </WriteForm>
        )
      }
      rows={filters}
      columns={columns}
      keyOf={({ type, port }) => `${type}:${port}`}
    />
  );
}
