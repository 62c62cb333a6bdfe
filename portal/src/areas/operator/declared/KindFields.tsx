import { Checkbox, NumberInput, PasswordInput, Select, Textarea, TextInput } from '@mantine/core';
import { localOf } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { operatorDeclaredMessages as text } from '../../../messages/operator-declared.ts';
import type { FormField } from './form-fields.ts';
import { type DraftForm, ItemsList } from './ItemsList.tsx';
import { helpOf, labelOf } from './labels.ts';

interface Props {
  readonly kind: string;
  readonly fields: readonly FormField[];
  readonly form: DraftForm;
  /** The object in the draft whose fields these are, such as `rules.0.`; empty: the draft. */
  readonly at?: string;
  /** There was an object before, whose secret is kept. */
  readonly isChange: boolean;
  /** The first field takes the focus. */
  readonly isFocused?: boolean;
}

/** The fields of an object, as its schema has them. */
export function KindFields({ fields, at = '', isFocused = false, ...props }: Props) {
  return (
    <div className="form-row">
      {fields.map((field, index) => (
        <Field
          key={field.name}
          {...props}
          field={field}
          path={`${at}${field.name}`}
          isFocused={isFocused && index === 0}
        />
      ))}
    </div>
  );
}

/** The help stands below the field, so that fields in a row are on one line. */
const ORDER = {
  inputWrapperOrder: ['label' as const, 'input' as const, 'description' as const, 'error' as const],
};

interface FieldProps {
  readonly kind: string;
  readonly field: FormField;
  readonly form: DraftForm;
  readonly path: string;
  readonly isChange: boolean;
  readonly isFocused: boolean;
}

function Field(props: FieldProps) {
  const { kind, field, form, path, isChange } = props;
  const label = labelOf(kind, path);
  const help = helpOf(kind, path, field.help);
  if (field.kind === 'parts') {
    return (
      <fieldset className="plain field-all">
        <legend>{label}</legend>
        {help !== undefined && <div className="hint">{help}</div>}
        <KindFields
          kind={kind}
          fields={field.fields}
          form={form}
          at={`${path}.`}
          isChange={isChange}
        />
      </fieldset>
    );
  }
  if (field.kind === 'items') {
    return (
      <ItemsList field={field} form={form} path={path} label={label} help={help}>
        {(at, isAdded) => (
          <KindFields
            kind={kind}
            fields={field.fields}
            form={form}
            at={at}
            isChange={false}
            isFocused={isAdded}
          />
        )}
      </ItemsList>
    );
  }
  if (field.kind === 'switch') {
    const input = form.getInputProps(path, { type: 'checkbox' });
    return <Checkbox className="field-all" size="sm" label={label} description={help} {...input} />;
  }
  if (field.kind === 'secret') return <Secret {...props} label={label} help={help} />;
  return <Input {...props} field={field} label={label} help={help} />;
}

interface InputProps extends FieldProps {
  readonly field: Exclude<FormField, { readonly kind: 'parts' | 'items' }>;
  readonly label: string;
  readonly help: string | undefined;
}

/** A field that is typed. */
function Input({ field, form, path, isFocused, label, help }: InputProps) {
  const shared = {
    label,
    description: help,
    required: field.isRequired,
    ...ORDER,
    ...(isFocused && { autoFocus: true }),
    ...form.getInputProps(path),
  };
  if (field.kind === 'number') {
    return (
      <NumberInput
        className="field-m"
        min={field.minimum}
        max={field.maximum}
        allowDecimal={false}
        hideControls
        {...shared}
      />
    );
  }
  if (field.kind === 'choice') {
    return (
      <Select
        className="field-m"
        data={[...field.values]}
        placeholder={field.isRequired ? text.choose : text.optional}
        clearable={!field.isRequired}
        {...shared}
        value={shared['value'] || null}
      />
    );
  }
  if (field.kind === 'words') {
    return (
      <Textarea
        className="field-all"
        autosize
        maxRows={12}
        spellCheck={false}
        {...shared}
        description={[help, field.isOfLines ? text.lines : text.list].join(' ').trim()}
      />
    );
  }
  if (field.kind === 'moment') return <Moment {...shared} />;
  return (
    <TextInput className="field-m" maxLength={field.maxLength} spellCheck={false} {...shared} />
  );
}

interface MomentProps {
  readonly value?: string;
  onChange?(value: string): void;
}

/** A moment in the time of this browser. The draft has it whole, so that what is not touched stays as it was. */
function Moment({ value = '', onChange, ...input }: MomentProps) {
  return (
    <TextInput
      className="field-m"
      type="datetime-local"
      {...input}
      value={value === '' ? '' : localOf(value)}
      onChange={({ currentTarget: { value: typed } }) =>
        onChange?.(typed === '' ? '' : new Date(typed).toISOString())
      }
    />
  );
}

function Secret({
  form,
  path,
  label,
  help,
  field,
  isChange,
}: FieldProps & { readonly label: string; readonly help: string | undefined }) {
  const ending = form.getInputProps(`${path}.isEnded`, { type: 'checkbox' });
  return (
    <div className="field-m">
      <PasswordInput
        label={label}
        description={isChange ? [help, text.secretHint].join(' ').trim() : help}
        autoComplete="new-password"
        maxLength={field.kind === 'secret' ? field.maxLength : undefined}
        visibilityToggleButtonProps={{ 'aria-label': messages.signIn.showPassword }}
        disabled={ending['checked'] === true}
        {...ORDER}
        {...form.getInputProps(`${path}.typed`)}
      />
      {isChange && <Checkbox size="xs" mt={6} label={text.endSecret} {...ending} />}
    </div>
  );
}
