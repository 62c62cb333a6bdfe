import { Select } from '@mantine/core';
import { ExplainedField } from '../../components/forms/ExplainedField.tsx';
import type { Fields } from '../../components/forms/WriteForm.tsx';
import { messages } from '../../messages/index.ts';
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
  readonly types: readonly { readonly type: string; readonly name: string }[];
}

export function FilterFields({ form, types }: Props) {
  const { port } = form.values;
  return (
    <>
      <Select
        className="field"
        data-autofocus
        label={text.filter}
        placeholder={text.choose}
        data={types.map(({ type, name }) => ({ value: type, label: name }))}
        required
        {...form.getInputProps('type')}
      />
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
