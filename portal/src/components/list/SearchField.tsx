import { TextInput } from '@mantine/core';
import { Search } from 'lucide-react';

interface Props {
  readonly label: string;
  readonly value: string;
  onChange(value: string): void;
  /** Where Enter goes to the next match, and Shift+Enter to the one before. */
  onEnter?(isBackwards: boolean): void;
}

/** The search of a page: the key `/` focuses it (see shell/use-keys.ts). */
export function SearchField({ label, value, onChange, onEnter }: Props) {
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
        if (event.key === 'Enter') onEnter?.(event.shiftKey);
      }}
      leftSection={<Search size={15} aria-hidden="true" />}
      rightSection={<kbd aria-hidden="true">/</kbd>}
    />
  );
}
