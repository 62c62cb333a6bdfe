import { TagsInput, type TagsInputProps } from '@mantine/core';
import { useMemo } from 'react';
import { useAddresses } from './queries.ts';
import { SEPARATORS, splitTargets, suggestTargets } from './targets.ts';

const MAX_SUGGESTED = 30;

interface Props extends Omit<TagsInputProps, 'data' | 'onChange'> {
  onChange(targets: readonly string[]): void;
}

/** Addresses and prefixes: what is held is suggested, several can be pasted. */
export function TargetsInput({ onChange, ...props }: Props) {
  const { data } = useAddresses();
  const suggested = useMemo(() => (data === undefined ? [] : suggestTargets(data)), [data]);
  return (
    <TagsInput
      size="sm"
      data={suggested}
      limit={MAX_SUGGESTED}
      splitChars={SEPARATORS}
      acceptValueOnBlur
      {...props}
      onChange={(typed) => onChange(splitTargets(typed))}
    />
  );
}
