import { ActionIcon, NumberInput, Select, Switch, TextInput } from '@mantine/core';
import { RotateCcw } from 'lucide-react';
import type { ReactNode } from 'react';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';
import { describeInput, type EggVariable } from './draft.ts';

/** Fields of one row begin at one height, also where only some have a description. */
export const FIELD_ORDER: ('label' | 'input' | 'description' | 'error')[] = [
  'label',
  'input',
  'description',
  'error',
];

type Variable = Omit<EggVariable, 'viewable' | 'editable'>;

/** `getInputProps` of the form. */
type InputProps = (path: `variables.${string}`) => object;

interface Props {
  readonly variables: readonly Variable[];
  readonly values: Readonly<Record<string, string>>;
  readonly inputProps: InputProps;
  /** Why variables cannot be changed, in sentences by name. Default: all can. */
  readonly fixed?: ReadonlyMap<string, string>;
}

/** The settings of a game: each variable of its egg with its name, what it is for, what it takes, and its default. */
export function VariableFields({ variables, values, inputProps, fixed = new Map() }: Props) {
  return (
    <div className="form-row">
      {variables.map((variable) => (
        <VariableField
          key={variable.env}
          variable={variable}
          value={values[variable.env] ?? variable.default}
          reason={fixed.get(variable.env) ?? null}
          inputProps={inputProps}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  readonly variable: Variable;
  readonly value: string;
  readonly reason: string | null;
  readonly inputProps: InputProps;
}

/** The part of a form that a field uses. */
interface Bound {
  readonly error?: ReactNode;
  onChange(value: string): void;
}

function VariableField({ variable, value, reason, inputProps }: FieldProps) {
  const { env, name, input, rules, default: standard } = variable;
  const bound = inputProps(`variables.${env}`) as Bound;
  const reset = value !== standard && reason === null && (
    <Reset name={name} standard={standard} onReset={() => bound.onChange(standard)} />
  );
  const shared = {
    label: name,
    description: <About variable={variable} reason={reason} />,
    error: bound.error,
    disabled: reason !== null,
  };
  if (input.kind === 'switch') {
    return (
      <div className="field-m row">
        <Switch
          {...shared}
          checked={value === input.on}
          onChange={({ currentTarget: { checked } }) =>
            bound.onChange((checked ? input.on : input.off) ?? '')
          }
        />
        {reset}
      </div>
    );
  }
  const field = {
    ...shared,
    className: 'field-m',
    inputWrapperOrder: FIELD_ORDER,
    required: rules.includes('required'),
    value,
    ...(reset && { rightSection: reset, rightSectionPointerEvents: 'all' as const }),
  };
  if (input.kind === 'choice') {
    return (
      <Select
        {...field}
        data={input.choices.map((choice) => ({ value: choice, label: choice }))}
        allowDeselect={false}
        onChange={(chosen) => bound.onChange(chosen ?? standard)}
      />
    );
  }
  // A value that is no number, such as an empty one, stays as it is written.
  if (input.kind === 'number' && (value === '' || Number.isFinite(Number(value)))) {
    return (
      <NumberInput
        {...field}
        hideControls={reset !== false}
        allowDecimal={!input.whole}
        clampBehavior="none"
        {...(input.least !== null && { min: input.least })}
        {...(input.most !== null && { max: input.most })}
        onChange={(typed) => bound.onChange(String(typed))}
      />
    );
  }
  return (
    <TextInput
      {...field}
      maxLength={input.kind === 'text' ? (input.most ?? 16_384) : 16_384}
      placeholder={standard}
      onChange={({ currentTarget }) => bound.onChange(currentTarget.value)}
    />
  );
}

interface AboutProps {
  readonly variable: Variable;
  readonly reason: string | null;
}

/** Describes a variable: its purpose, what it takes, its default, and why it cannot be changed. */
function About({ variable, reason }: AboutProps) {
  const { description, default: standard } = variable;
  const sentences = [
    description,
    text.takes(describeInput(variable)),
    text.defaultIs(standard),
    reason ?? '',
  ];
  return <>{sentences.filter((one) => one !== '').join(' ')}</>;
}

interface ResetProps {
  readonly name: string;
  readonly standard: string;
  onReset(): void;
}

function Reset({ name, standard, onReset }: ResetProps) {
  const label = text.reset(name);
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      aria-label={label}
      title={`${label}. ${text.defaultIs(standard)}`}
      onClick={onReset}
    >
      <RotateCcw size={14} aria-hidden="true" />
    </ActionIcon>
  );
}
