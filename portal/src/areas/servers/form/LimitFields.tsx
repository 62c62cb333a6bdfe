import { NumberInput, Switch, TextInput } from '@mantine/core';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';
import { LIMIT_NAMES, LIMITS, type LimitName } from './draft.ts';

interface Props {
  /** `getInputProps` of the form. */
  inputProps(
    path: `limits.${LimitName | 'cores' | 'oom'}`,
    options?: { readonly type: 'checkbox' },
  ): object;
}

export function LimitFields({ inputProps }: Props) {
  return (
    <>
      <div className="form-row">
        {LIMIT_NAMES.map((limit) => (
          <NumberInput
            key={limit}
            className="field-s"
            label={text.limitNames[limit]}
            min={LIMITS[limit].least}
            allowDecimal={false}
            thousandSeparator=","
            required
            {...inputProps(`limits.${limit}`)}
          />
        ))}
        <TextInput
          className="field-s"
          label={text.cores}
          placeholder={text.allCores}
          maxLength={200}
          {...inputProps('limits.cores')}
        />
      </div>
      <p className="dim">{text.unlimited}</p>
      <Switch
        label={text.oom}
        description={text.oomText}
        {...inputProps('limits.oom', { type: 'checkbox' })}
      />
    </>
  );
}
