import { TextInput } from '@mantine/core';
import { Search } from 'lucide-react';

interface Props {
  readonly label: string;
  readonly value: string;
  onChange(value: string): void;
}

/** The search of a page: the key `/` focuses it (see shell/use-keys.ts). */
export function SearchField({ label, value, onChange }: Props) {
  return (
    <TextInput
      className="grow"
      type="search"
      data-page-search
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && value !== '') onChange('');
      }}
      leftSection={<Search size={15} aria-hidden="true" />}
      rightSection={<kbd aria-hidden="true">/</kbd>}
    />
  );
}
