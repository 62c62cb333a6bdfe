import { ActionIcon, Button, Select, TextInput } from '@mantine/core';
import type { FilterInput } from '@portcullis/client/index.ts';
import { Plus, Trash2 } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { messages } from '../../messages/index.ts';
import { explainPorts } from '../addresses/rules/rule-draft.ts';
import { useFilterTypes } from './queries.ts';

const text = messages.group;

interface Props {
  readonly filters: readonly FilterInput[];
  readonly isLocked: boolean;
  onChange(filters: readonly FilterInput[]): void;
}

export function FiltersSection({ filters, isLocked, onChange }: Props) {
  const types = useFilterTypes();
  const [isAdding, setAdding] = useState(false);
  const nameOf = (type: string): string =>
    types.data?.find((each) => each.type === type)?.name ?? type;
  return (
    <section className="card grid" aria-label={text.filters}>
      <div className="tools card-pad">
        <div className="tools-title">
          <h2>{text.filters}</h2>
          <span className="dim">{filters.length === 0 ? text.noFilters : text.filtersLead}</span>
        </div>
        {!isLocked && (
          <div className="row-end">
            <Button
              variant="default"
              leftSection={<Plus size={15} aria-hidden="true" />}
              onClick={() => setAdding(true)}
            >
              {text.addFilter}
            </Button>
          </div>
        )}
      </div>
      {isAdding && (
        <div className="panel">
          <FilterForm
            types={types.data ?? []}
            onAdd={(filter) => {
              onChange([...filters, filter]);
              setAdding(false);
            }}
            onClose={() => setAdding(false)}
          />
        </div>
      )}
      {filters.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{messages.filters.filter}</th>
                <th scope="col">{messages.filters.ports}</th>
                <th scope="col">
                  <span className="hidden">{messages.filters.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {filters.map(({ type, port }, index) => (
                <tr key={`${type}:${port}`}>
                  <td>{nameOf(type)}</td>
                  <td className="mono">{port}</td>
                  <td className="num">
                    {!isLocked && (
                      <ActionIcon
                        variant="subtle"
                        color="gray"
                        aria-label={text.takeOut(`${nameOf(type)} ${port}`)}
                        onClick={() => onChange(filters.toSpliced(index, 1))}
                      >
                        <Trash2 size={15} />
                      </ActionIcon>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface FormProps {
  readonly types: readonly { readonly type: string; readonly name: string }[];
  onAdd(filter: FilterInput): void;
  onClose(): void;
}

function FilterForm({ types, onAdd, onClose }: FormProps) {
  const [type, setType] = useState<string | null>(null);
  const [port, setPort] = useState('');
  const ports = explainPorts(port);
  const isValid = type !== null && port.trim() !== '' && ports.isValid;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isValid) onAdd({ type, port: port.trim() });
  };
  return (
    <form className="stack" onSubmit={submit} aria-label={text.addFilter}>
      <div className="form-row">
        <Select
          className="field"
          label={messages.filters.filter}
          placeholder={messages.filters.choose}
          value={type}
          onChange={setType}
          data={types.map((each) => ({ value: each.type, label: each.name }))}
        />
        <div className="field">
          <TextInput
            label={messages.filters.ports}
            placeholder="27015, 27020-27025"
            value={port}
            onChange={(event) => setPort(event.currentTarget.value)}
          />
          <div className={`hint ${port === '' || ports.isValid ? '' : 'bad'}`} role="status">
            {port === '' ? messages.filters.portsHint : ports.text}
          </div>
        </div>
      </div>
      <div className="row">
        <Button type="submit" disabled={!isValid}>
          {text.addFilter}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
      </div>
    </form>
  );
}
