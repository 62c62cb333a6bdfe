import { Select } from '@mantine/core';
import type { FilterEntry } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { ExplainedField } from '../../components/forms/ExplainedField.tsx';
import type { Fields } from '../../components/forms/WriteForm.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { explainPorts } from './rules/rule-draft.ts';

const text = messages.filters;

/** A filter as it is typed; `type` is null until one is chosen. */
export interface FilterDraft {
  readonly type: string | null;
  readonly port: string;
}

export const EMPTY_FILTER: FilterDraft = { type: null, port: '' };

/** Why a filter cannot be sent, which its fields show. */
export function isIncomplete({ type, port }: FilterDraft): boolean {
  return type === null || port.trim() === '' || !explainPorts(port).isValid;
}

export function filterOf({ type, port }: FilterDraft) {
  return { type: type ?? '', port: port.trim() };
}

interface Props {
  readonly form: Fields<FilterDraft>;
  /** The types that the address can have; null: any. */
  readonly available: readonly string[] | null;
}

/** The whole catalogue: it changes with the version of the service only. */
export function useFilters(): readonly FilterEntry[] {
  const { client } = useSession();
  const { data } = useQuery({
    queryKey: ['filter-catalogue'],
    queryFn: async ({ signal }) => (await client.listFilters({}, { signal })).data,
    staleTime: Infinity,
  });
  return data ?? [];
}

export function FilterFields({ form, available }: Props) {
  const { type, port } = form.values;
  const filters = useFilters();
  const chosen = filters.find((filter) => filter.type === type);
  const choose = (next: string | null): void => {
    form.setFieldValue('type', next);
    const usual = filters.find((filter) => filter.type === next);
    // What nobody typed follows the filter.
    if (usual !== undefined && (port === '' || port === chosen?.usual_ports.join(', ')))
      form.setFieldValue('port', usual.usual_ports.join(', '));
  };
  return (
    <>
      <div className="field">
        <Select
          data-autofocus
          label={text.filter}
          placeholder={text.choose}
          searchable
          maxDropdownHeight={400}
          nothingFoundMessage={text.noneFound}
          data={optionsOf(filters, available)}
          renderOption={({ option }) => (
            <FilterOption
              filter={filters.find((filter) => filter.type === option.value)}
              isManaged={option.disabled === true}
            />
          )}
          required
          {...form.getInputProps('type')}
          onChange={choose}
        />
        {chosen !== undefined && (
          <div className="hint">
            {chosen.description}{' '}
            <a href={new URL(chosen.page).pathname} target="_blank" rel="noreferrer">
              {text.page}
            </a>
          </div>
        )}
      </div>
      <ExplainedField
        label={text.ports}
        placeholder="27015, 27020-27025"
        explained={port === '' ? { isValid: true, text: text.portsHint } : explainPorts(port)}
        required
        {...form.getInputProps('port')}
      />
    </>
  );
}

function optionsOf(filters: readonly FilterEntry[], available: readonly string[] | null) {
  return (['games', 'protocols'] as const).map((category) => ({
    group: text.categories[category],
    items: filters
      .filter((filter) => filter.category === category)
      .map(({ type, name }) => ({
        value: type,
        label: name,
        disabled: available !== null && !available.includes(type),
      })),
  }));
}

function FilterOption({
  filter,
  isManaged,
}: {
  readonly filter: FilterEntry | undefined;
  readonly isManaged: boolean;
}) {
  if (filter === undefined) return null;
  const { name, description, usual_ports: ports, protocols } = filter;
  return (
    <div>
      {name} <span className="dim mono">{text.usual(protocols, ports)}</span>
      <div className="hint">{isManaged ? text.ofService : description}</div>
    </div>
  );
}
