import { NumberInput } from '@mantine/core';
import { serverFormMessages as text } from '../../../messages/server-form.ts';

interface Props {
  /** `getInputProps` of the form. */
  inputProps(limit: 'memory' | 'cpu' | 'disk'): object;
}

export function LimitFields({ inputProps }: Props) {
  return (
    <div className="form-row">
      {(['memory', 'cpu', 'disk'] as const).map((limit) => (
        <NumberInput
          key={limit}
          className="field-s"
          label={text[limit]}
          min={1}
          allowDecimal={false}
          thousandSeparator=","
          required
          {...inputProps(limit)}
        />
      ))}
    </div>
  );
}
