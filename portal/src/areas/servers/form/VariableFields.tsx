import { Select, TextInput } from '@mantine/core';
import { serverFormMessages as text } from '../../../messages/server-form.ts';
import { choicesOf, describeRules, type EggVariable } from './draft.ts';

/** Fields of one row begin at one height, also where only some have a description. */
const FIELD_ORDER: ('label' | 'input' | 'description' | 'error')[] = [
  'label',
  'input',
  'description',
  'error',
];

interface Props {
  readonly variables: readonly EggVariable[];
  readonly values: Readonly<Record<string, string>>;
  /** `getInputProps` of the form. */
  inputProps(path: `variables.${string}`): object;
}

/** The settings of a game: each variable of its egg with its name, its rules and its default. */
export function VariableFields({ variables, values, inputProps }: Props) {
  return (
    <div className="form-row">
      {variables.map(({ env, name, default: standard, rules }) => {
        const choices = choicesOf(rules);
        const about = describeRules(rules.filter((rule) => rule !== 'required'));
        const shared = {
          className: 'field-m',
          label: name,
          description: about === '' ? null : about,
          inputWrapperOrder: FIELD_ORDER,
          placeholder: text.defaultIs(standard),
          required: rules.includes('required'),
          ...inputProps(`variables.${env}`),
          value: values[env] ?? standard,
        };
        return choices === null ? (
          <TextInput key={env} {...shared} maxLength={16_384} />
        ) : (
          <Select key={env} {...shared} data={choices} allowDeselect={false} />
        );
      })}
    </div>
  );
}
