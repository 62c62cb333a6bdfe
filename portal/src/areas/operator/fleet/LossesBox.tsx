import { Checkbox } from '@mantine/core';
import type { Fields } from '../../../components/forms/WriteForm.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { isLosing } from '../organisations/HoldingForm.tsx';

interface Props {
  readonly form: Pick<Fields<{ readonly allowsLosses: boolean }>, 'getInputProps'>;
  /** The refusal of the last attempt, which says what would be lost. */
  readonly error: Error | null;
}

/** Allows a write that was refused because something would be lost; nothing before that. */
export function LossesBox({ form, error }: Props) {
  if (!isLosing(error)) return null;
  return (
    <Checkbox
      size="sm"
      label={operatorMessages.fleet.allowLosses}
      {...form.getInputProps('allowsLosses', { type: 'checkbox' })}
    />
  );
}
